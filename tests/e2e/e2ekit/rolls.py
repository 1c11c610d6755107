"""Changes of the model of `steady` under load: which pods are made anew, and when all vectors are of one kind again."""

from e2ekit.client import Load
from e2ekit.hub import source
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.models import wait_settled
from e2ekit.steady import LEAST, MODEL, pods
from e2ekit.waiting import until


def from_hub(revision: str) -> Manifest:
    """What of `spec.model` makes the hub its source."""
    return {"source": source(revision=revision)["source"] | {"package": None}}


def roll(kubectl: Kubectl, load: Load, change: Manifest, name: str, concerned: set[str]) -> None:
    """Change the model: the pods of these components are made anew and no others, then all vectors are of one kind."""
    before = {component: set(pods(kubectl, component)) for component in ("engine", "gateway")}
    kubectl.patch("embeddingmodel", MODEL, {"spec": change})
    wait_settled(kubectl, MODEL, timeout_s=300)
    for component, names in before.items():
        if component in concerned:
            until(lambda c=component, n=names: not n & everything(kubectl, c), f"every {component} is another", 120)
        else:
            assert set(pods(kubectl, component)) == names
    vectors_are(load, name)
    others = load.counted().right | {name: 0}
    vectors_are(load, name)
    assert load.counted().right | {name: 0} == others, "an answer came of what is gone"


def everything(kubectl: Kubectl, component: str) -> set[str]:
    """The pods of a component, with those on their way out."""
    labels = {"app.kubernetes.io/instance": MODEL, "app.kubernetes.io/component": component}
    return {each["metadata"]["name"] for each in kubectl.all("pods", labels)}


def vectors_are(load: Load, name: str) -> None:
    """Wait until answers have the vectors of this name."""
    enough = load.counted().right.get(name, 0) + LEAST
    until(lambda: load.counted().right.get(name, 0) >= enough, f"vectors are those called {name}")
