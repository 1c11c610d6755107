"""Six models, a real Prometheus that scrapes them through the PodMonitors which the operator wrote, and Alertmanager.

`m`, `f` and `h` serve, `n` finds no room for its engine, `g` none for its gateway, and the download of `d` stalls.
Half of them are scraped by what the real operator of Prometheus made of such a PodMonitor (`monitorkit.recorded`).
The chart's rules run in fast motion (`monitorkit.shortened`). Prometheus is a process in the cluster's network, as its
DNS is, and no pod.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2ekit.alertmanager import Alertmanager, alertmanager
from e2ekit.client import Client
from e2ekit.cluster import Cluster
from e2ekit.discovery import discovering
from e2ekit.faulty import with_faults
from e2ekit.hub import Hub, source
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.models import ACCELERATOR, CPU_GRAPHS, announce_accelerators, manifest, wait_settled
from e2ekit.namespaces import make_namespace, remove_namespace
from e2ekit.news import frequent_news
from e2ekit.operator import OperatorProcess
from e2ekit.optional_kinds import POD_MONITOR, optional_kinds
from e2ekit.pod_monitor import jobs
from e2ekit.prometheus import Prometheus, running
from e2ekit.told import AllTold, listening
from e2ekit.volumes import volume
from e2ekit.waiting import until
from monitorkit.recorded import recorded
from monitorkit.rules import fast_rules

FACTOR = 30
KEY = "a-key-for-tests-only"
MODELS = ("m", "n", "d", "f", "h", "g")
BY_ITS_OPERATOR = ("d", "f", "g")
"""Models that are scraped as the real operator of Prometheus would have it. They have pods of each kind."""
ROOM_TOKENS = 600
"""That a gateway of `h` lets wait."""
_SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"team": KEY}}
# A model whose Secret must be read is a model that the operator cannot visit without the API server.
_WITH_KEYS = {"apiKeysSecretRef": {"name": "keys"}}
_RETRIES = {"loadBalancing": {"retryBudgetPercent": 100, "slowStartSeconds": 0}}
_STALLS = "tokenizer.json"
_STALL_S = 5
"""That a download waits for more; each of its attempts brings some bytes, so that it goes on. Without more at all it
would be given up in the time that the rules, in fast motion as well, need: that they come first is no test's here."""
_START_S = 120
"""That an engine may take to begin. Rules know of it from the engine, as a share: fast motion changes nothing in it."""


@dataclass(frozen=True)
class Watched:
    """The models' namespace, and who watches."""

    kubectl: Kubectl
    client: Client
    hub: Hub
    operator: OperatorProcess
    prometheus: Prometheus
    told: AllTold

    def scraped(self) -> list[dict[str, str]]:
        """Labels of every target that is up."""
        return [each["metric"] for each in self.prometheus.query("up == 1")]

    def engines(self, model: str) -> list[str]:
        """Pods of engines of a model that are scraped, by name."""
        found = [each for each in self.scraped() if each.get("container") == "engine"]
        return sorted(each["pod"] for each in found if each["embedding_model"] == model)

    def ask(self) -> int:
        """One request to `m` of a caller with a key; its status, 0 while the node's proxy does not know the gateway."""
        url, body = f"http://m.{self.kubectl.namespace}.svc/v1/embeddings", {"model": "m", "input": "hello"}
        return self.client.request("POST", url, body, {"authorization": f"Bearer {KEY}"}).status


@contextmanager
def watching(cluster: Cluster, images: Images, folder: Path) -> Iterator[Watched]:
    """All of it, while inside; on a cluster of our own engines do wrong when they are told to."""
    kubectl = make_namespace(cluster, "watched")
    images = with_faults(cluster, images) if cluster.own else images
    operator = OperatorProcess(cluster, images, kubectl.namespace, folder / "operator.log")
    with ExitStack() as stack:
        stack.callback(remove_namespace, kubectl)
        stack.enter_context(optional_kinds(kubectl, POD_MONITOR))
        announce_accelerators(kubectl, 3, CPU_GRAPHS)
        stack.callback(announce_accelerators, kubectl, 0, CPU_GRAPHS)
        client = Client(kubectl, images.gateway)
        hub = Hub(kubectl, client, images.operator)
        operator.flags = ("--resync-seconds", "5", "--no-leader-election", "--fetch-env", f"HF_ENDPOINT={hub.url}")
        stack.callback(operator.stop)
        operator.start()
        claim = stack.enter_context(volume(kubectl)).claim
        _apply(kubectl, hub, claim)
        stack.enter_context(frequent_news(kubectl))
        manager = stack.enter_context(alertmanager(folder, cluster.enter))
        pods = stack.enter_context(discovering(kubectl, folder))
        config = _config(kubectl, pods, operator, manager, folder)
        prometheus = stack.enter_context(running(folder, config, cluster.enter))
        told = stack.enter_context(listening(manager))
        watched = Watched(kubectl, client, hub, operator, prometheus, told)
        until(lambda: watched.ask() == 200, "the gateway is reached", 30)
        prometheus.wait_up(11)
        yield watched


def _apply(kubectl: Kubectl, hub: Hub, claim: Manifest) -> None:
    """All models, until three of them serve and the download of another has come as far as it will."""
    engine = {"warmup": {"timeoutSeconds": _START_S}}
    kubectl.apply(_SECRET, manifest("m", gateway=_WITH_KEYS, engine=engine), _without_room(), _held(), _alone())
    until(hub.answers, "the hub serves")
    first = hub.commit()
    hub.publish({"README.md": "the same model"})
    hub.fail({"path": f"/{first}/{_STALLS}", "times": 1000, "after": 1000, "stall_s": 2 * _STALL_S})
    kubectl.apply(_faulty(), _stalled(first, claim))
    until(lambda: hub.asked(f"/{first}/{_STALLS}"), "the download is under way", 90)
    for name in ("m", "f", "h"):
        wait_settled(kubectl, name, 200)


def _without_room() -> Manifest:
    limits = {ACCELERATOR: "1", "cpu": "1", "memory": "1Gi"}
    return manifest("n", gateway=_WITH_KEYS, engine={"resources": {"limits": limits}})


def _faulty() -> Manifest:
    """Two engines that do on the CPU what graphs do on a GPU; what a third one would be given is the hub's to say."""
    engine = {"replicas": 2, "accelerator": {"resourceName": CPU_GRAPHS}}
    return manifest("f", model=source(), engine=engine, gateway=_RETRIES)


def _held() -> Manifest:
    return manifest("h", gateway={"maxQueuedTokens": ROOM_TOKENS})


def _alone() -> Manifest:
    """An engine without a gateway: no node has as much as that asks for."""
    return manifest("g", gateway={"resources": {"limits": {"cpu": "1000", "memory": "1Gi"}}})


def _stalled(revision: str, claim: Manifest) -> Manifest:
    cache = {"persistentVolumeClaim": claim, "download": {"stallSeconds": _STALL_S}}
    return manifest("d", model=source(revision=revision), gateway=_WITH_KEYS, cache=cache)


def _config(
    kubectl: Kubectl, pods: Path, operator: OperatorProcess, manager: Alertmanager, folder: Path
) -> dict[str, Any]:
    """What Prometheus is told: what PodMonitors come to, and where the operator is, which here is a process."""
    until(lambda: len(kubectl.all("podmonitors")) == len(MODELS), "each model has a PodMonitor")
    labels = {"namespace": "trellis-system", "pod": "operator-0"}
    static = [{"targets": [f"127.0.0.1:{operator.ports[1]}"], "labels": labels}]
    return {
        # A machine that is short of time must not lose scrapes, or alerts that wait begin to wait anew.
        "global": {"scrape_interval": "2s", "scrape_timeout": "2s"},
        "scrape_configs": [
            *(job for monitor in kubectl.all("podmonitors") for job in _jobs(monitor, pods)),
            {"job_name": "operator", "static_configs": static},
        ],
        "rule_files": [str(fast_rules(folder, FACTOR))],
        "alerting": {"alertmanagers": [manager.target]},
    }


def _jobs(monitor: Manifest, pods: Path) -> list[dict[str, Any]]:
    where = monitor["metadata"]
    if where["name"] in BY_ITS_OPERATOR:
        return recorded(where["namespace"], where["name"], pods)
    return jobs(monitor, pods)
