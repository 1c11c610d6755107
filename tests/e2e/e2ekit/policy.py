"""Whether NetworkPolicies let a connection in, by their own words: for clusters that take them and enforce none. Pure.

Knows selectors of labels and ports, which is what policies of this project use, and fails on anything else.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from e2ekit.kubectl import Manifest

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Peer:
    """A pod at one end of a connection.

    Attributes:
        ports: numbers of its named ports.
        namespace_labels: besides the name, which every namespace has as a label.
    """

    namespace: str
    labels: Labels
    ports: Mapping[str, int] = field(default_factory=dict)
    namespace_labels: Labels = field(default_factory=dict)

    @classmethod
    def of(cls, pod: Manifest) -> "Peer":
        """A pod as the API server has it."""
        ports = [port for container in pod["spec"]["containers"] for port in container.get("ports", [])]
        numbers = {port["name"]: port["containerPort"] for port in ports if "name" in port}
        return cls(pod["metadata"]["namespace"], pod["metadata"].get("labels", {}), numbers)


def admits(policies: Iterable[Manifest], caller: Peer, called: Peer, port: int) -> bool:
    """Whether `caller` may connect to a TCP port of `called`: where no policy is about it, everybody may."""
    about = [each for each in policies if _is_about(each, called)]
    rules = [rule for policy in about for rule in policy["spec"].get("ingress", [])]
    return not about or any(_from(rule, caller, called) and _at(rule, called, port) for rule in rules)


def _is_about(policy: Manifest, called: Peer) -> bool:
    spec = policy["spec"]
    mine = policy["metadata"]["namespace"] == called.namespace
    return mine and "Ingress" in spec.get("policyTypes", ["Ingress"]) and _selects(spec["podSelector"], called.labels)


def _from(rule: Manifest, caller: Peer, called: Peer) -> bool:
    return not rule.get("from") or any(_is(peer, caller, called) for peer in rule["from"])


def _is(peer: Manifest, caller: Peer, called: Peer) -> bool:
    assert set(peer) <= {"podSelector", "namespaceSelector"}, f"not understood: {peer}"
    names = {"kubernetes.io/metadata.name": caller.namespace, **caller.namespace_labels}
    here = _selects(peer["namespaceSelector"], names) if "namespaceSelector" in peer else _same(caller, called)
    return here and _selects(peer.get("podSelector", {}), caller.labels)


def _same(caller: Peer, called: Peer) -> bool:
    return caller.namespace == called.namespace


def _at(rule: Manifest, called: Peer, port: int) -> bool:
    allowed = [each for each in rule.get("ports", []) if each.get("protocol", "TCP") == "TCP"]
    assert all(set(each) <= {"port", "protocol"} for each in allowed), f"not understood: {rule}"
    return not rule.get("ports") or port in {called.ports.get(each["port"], each["port"]) for each in allowed}


def _selects(selector: Manifest, labels: Labels) -> bool:
    assert set(selector) <= {"matchLabels"}, f"not understood: {selector}"
    return selector.get("matchLabels", {}).items() <= dict(labels).items()
