"""Condition 11: the CRD is older than the operator, or newer. Nothing rolls, and nothing is written at rest."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from e2ekit.counts import visits, writes
from e2ekit.crd import CRD_FILE, CRD_NAME, install_crd
from e2ekit.kubectl import Kubectl
from e2ekit.models import children, manifest, templates, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.waiting import throughout, until

pytestmark = pytest.mark.cluster

Body = dict[str, Any]


def fields(crd: Body, *path: str) -> Body:
    """The properties at a path of the schema."""
    found: Body = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    for name in path:
        found = found[name]["properties"]
    return found


def older(crd: Body) -> None:
    """Without fields that came later: of spec, with and without a default, and of status."""
    for section, field in ((("engine",), "warmup"), (("gateway",), "loadBalancing"), (("model",), "servedNames")):
        del fields(crd, "spec", *section)[field]
    del fields(crd, "spec")["disruption"]
    del fields(crd, "status")["resolved"]
    del fields(crd, "status")["url"]
    del fields(crd, "status", "engine")["updatedReplicas"]


def newer(crd: Body) -> None:
    """With fields of tomorrow, of which one has a default, and another default for one of today."""
    fields(crd, "spec", "engine")["patience"] = {"type": "integer", "default": 5}
    fields(crd, "spec", "gateway")["colour"] = {"type": "string"}
    fields(crd, "spec", "engine", "warmup")["timeoutSeconds"]["default"] = 900
    fields(crd, "status")["mood"] = {"type": "string"}


@pytest.fixture
def change_crd(kubectl: Kubectl) -> Iterator[Callable[[Callable[[Body], None]], None]]:
    """Puts another version of the CRD in place, for the length of a test."""

    def change(how: Callable[[Body], None]) -> None:
        crd = copy.deepcopy(yaml.safe_load(CRD_FILE.read_text()))
        how(crd)
        # Not server-side: fields that are gone must go, whoever applied them.
        crd["metadata"]["resourceVersion"] = kubectl.get("crd", CRD_NAME)["metadata"]["resourceVersion"]
        kubectl.run("replace", "-f", "-", stdin=yaml.safe_dump(crd))
        kubectl.run("wait", "--for=condition=Established", f"crd/{CRD_NAME}", "--timeout=30s")

    yield change
    change(lambda crd: None)
    install_crd(kubectl)


def assert_still(operator: OperatorProcess) -> None:
    before = visits(operator).get("converged", 0)
    until(lambda: visits(operator).get("converged", 0) > before, "a visit found nothing to do", 30)
    wrote = writes(operator)
    throughout(lambda: writes(operator) == wrote, "nothing is written", 15)


def current(crd: Body) -> None:
    """That of this checkout."""


@pytest.mark.parametrize(
    ("first", "later"), [(older, [current, older, current, newer]), (newer, [current])], ids=["older", "newer"]
)
def test_a_model_serves_under_another_version_of_the_crd_and_no_change_of_it_makes_a_new_pod(
    kubectl: Kubectl,
    operator: OperatorProcess,
    change_crd: Callable[..., None],
    first: Callable[[Body], None],
    later: list[Callable[[Body], None]],
) -> None:
    change_crd(first)
    operator.stop()
    operator.flags = ("--resync-seconds", "5")
    operator.start()
    model = manifest()
    if first is older:
        model["spec"]["engine"].pop("warmup", None)
    kubectl.apply(model)
    wait_settled(kubectl, "m")
    assert_still(operator)
    wanted = templates(kubectl, "m")
    for replicas, version in enumerate(later, start=2):
        pods = {each["metadata"]["name"] for each in children(kubectl, "m", "pods")}
        change_crd(version)
        # A write after the change: the object is stored anew, with what the new CRD adds and without what it drops.
        kubectl.patch("embeddingmodel", "m", {"spec": {"gateway": {"replicas": replicas}}})
        until(
            lambda n=replicas: kubectl.get("deployment", "m-gateway")["spec"]["replicas"] == n, "the operator goes on"
        )
        wait_settled(kubectl, "m")
        assert templates(kubectl, "m") == wanted
        assert pods < {each["metadata"]["name"] for each in children(kubectl, "m", "pods")}
        if version is not current:
            assert_still(operator)
