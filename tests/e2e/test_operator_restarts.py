"""Condition 2: an operator that is killed in a rollout, or replaced by one with other defaults, changes no pod.
Condition 12, second half: of two operators one writes.

One model serves all tests of this file; each has an operator of its own.
"""

import os
import signal
from collections.abc import Iterator

import pytest
from e2ekit.cluster import Cluster
from e2ekit.counts import is_up, writes
from e2ekit.kubectl import Kubectl
from e2ekit.models import children, manifest, templates, wait_settled
from e2ekit.namespaces import make_namespace, remove_namespace
from e2ekit.operator import OperatorProcess
from e2ekit.waiting import throughout, until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def kubectl(cluster: Cluster, crd: None) -> Iterator[Kubectl]:
    """One namespace for all tests of this file."""
    kubectl = make_namespace(cluster, "restarts")
    kubectl.apply(manifest())
    yield kubectl
    remove_namespace(kubectl)


def pod_names(kubectl: Kubectl) -> set[str]:
    return {each["metadata"]["name"] for each in children(kubectl, "m", "pods")}


def test_an_operator_that_is_killed_in_a_rollout_goes_on_where_it_was(
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    wait_settled(kubectl, "m")
    before = templates(kubectl, "m")
    spec = kubectl.get("embeddingmodel", "m")["spec"]
    another = "mean" if spec.get("embedding", {}).get("pooling") == "cls" else "cls"
    kubectl.patch("embeddingmodel", "m", {"spec": {"embedding": {"pooling": another}}})
    until(lambda: not set(templates(kubectl, "m").values()) & set(before.values()), "both Deployments roll")
    operator.kill()
    wanted = templates(kubectl, "m")
    operator.start()
    wait_settled(kubectl, "m")
    assert templates(kubectl, "m") == wanted
    until(lambda: len(children(kubectl, "m", "configmaps")) == 1, "what older pods read is gone")


def a_second(operator: OperatorProcess, name: str) -> OperatorProcess:
    return OperatorProcess(operator.cluster, operator.images, operator.namespace, operator.log.with_name(name))


def budget_becomes(kubectl: Kubectl, pods: int) -> None:
    """Let a drain take so many pods at once, and see that an operator has seen to it. No pod is made for that."""
    kubectl.patch("embeddingmodel", "m", {"spec": {"disruption": {"maxUnavailable": pods}}})
    until(lambda: kubectl.get("pdb", "m-engine")["spec"]["maxUnavailable"] == pods, "an operator works")


def holder(kubectl: Kubectl) -> str:
    lease = kubectl.find("lease", "trellis-operator")
    return str(lease["spec"].get("holderIdentity", "")) if lease else ""


def test_of_two_operators_the_second_waits_and_takes_over_at_once_when_the_first_stops(
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    first = until(lambda: holder(kubectl), "there is a leader")
    second = a_second(operator, "second.log")
    second.start()
    try:
        until(lambda: is_up(second), "the second runs")
        budget_becomes(kubectl, 3)
        assert holder(kubectl) == first
        assert writes(second) == 0
        assert operator.stop() == 0
        until(lambda: holder(kubectl) not in ("", first), "the second leads", 10)
        budget_becomes(kubectl, 4)
        wait_settled(kubectl, "m")
    finally:
        second.stop()


def test_a_leader_that_was_stopped_for_longer_than_its_lease_writes_nothing_and_ends(
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    first = until(lambda: holder(kubectl), "there is a leader")
    wait_settled(kubectl, "m")
    pid = operator_pid(operator)
    os.kill(pid, signal.SIGSTOP)
    second = a_second(operator, "second.log")
    second.start()
    try:
        until(lambda: holder(kubectl) not in ("", first), "the second leads", 60)
        # Something to do for whoever wakes up, with nobody there to do it before.
        os.kill(operator_pid(second), signal.SIGSTOP)
        kubectl.run("scale", "deployment", "m-gateway", "--replicas=3")
        os.kill(pid, signal.SIGCONT)
        assert operator.process is not None
        assert operator.process.wait(20) == 1
        said = operator.log.read_text()
        assert "error: the Lease" in said or "error: no longer the leader" in said
        assert "spec.replicas differs" not in said
        assert kubectl.get("deployment", "m-gateway")["spec"]["replicas"] == 3
    finally:
        second.kill()
    kubectl.delete("lease", "trellis-operator")  # of one that is gone: nobody need wait for its end
    operator.start()
    until(lambda: kubectl.get("deployment", "m-gateway")["spec"]["replicas"] == 1, "whoever leads next puts it back")
    wait_settled(kubectl, "m")


def test_another_version_of_the_operator_with_other_images_and_defaults_changes_no_pod(
    kubectl: Kubectl, operator: OperatorProcess
) -> None:
    wait_settled(kubectl, "m")
    wanted, pods = templates(kubectl, "m"), pod_names(kubectl)
    operator.stop()
    operator.flags = (
        *("--engine-image", "example.com/engine:2", "--gateway-image", "example.com/gateway:2"),
        *("--fetch-image", "example.com/operator:2", "--image-pull-policy", "Never", "--resync-seconds", "5"),
    )
    operator.start()
    budget_becomes(kubectl, 2)
    throughout(lambda: templates(kubectl, "m") == wanted and pod_names(kubectl) == pods, "pods stay", 15)
    kubectl.run("annotate", "embeddingmodel", "m", "trellis.dev/restart=please")
    until(lambda: "example.com/engine:2" in str(templates(kubectl, "m")), "a person asked for new pods")


def operator_pid(operator: OperatorProcess) -> int:
    """Of the interpreter: what entered the cluster's network may be its parent."""
    assert operator.process is not None
    pid = operator.process.pid
    while b"trellis_operator" not in _command(pid).split(b"\0")[2:4]:
        with open(f"/proc/{pid}/task/{pid}/children") as children_of:
            pid = int(children_of.read().split()[0])
    return pid


def _command(pid: int) -> bytes:
    with open(f"/proc/{pid}/cmdline", "rb") as command:
        return command.read()
