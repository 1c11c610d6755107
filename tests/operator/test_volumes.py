"""SourceReady of volumes: claims that are not there, or have no volume, or are mounted by engines that start."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from statuskit.pods import container, pod, starting, unschedulable, with_pods
from statuskit.said import said
from trellis_operator.desired.all import desired
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.observed import Observed
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.status import conditions
from trellis_operator.status.view import view

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]
Observe = Callable[[Iterable[Body]], Observed]

_HELPLESS = "preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling."


@pytest.mark.parametrize(
    ("message", "reason", "what_to_do"),
    [
        (f'persistentvolumeclaim "weights" not found. {_HELPLESS}', "VolumeNotFound", "make the claim weights"),
        ('persistentvolumeclaim "weights" is being deleted. not found', "VolumeNotFound", "make the claim weights"),
        (
            'persistentvolumeclaim "weights" bound to non-existent persistentvolume "v". not found',
            "VolumeNotFound",
            "make the claim weights",
        ),
        (
            f"pod has unbound immediate PersistentVolumeClaims. {_HELPLESS}",
            "VolumePending",
            "kubectl describe pvc weights",
        ),
        (
            "1 node(s) didn't find available persistent volumes to bind.",
            "VolumePending",
            "kubectl describe pvc weights",
        ),
    ],
)
def test_a_claim_that_is_not_there_or_has_no_volume_is_no_lack_of_room(
    minimal: Body,
    in_cluster: Read,
    setting: ClusterSetting,
    as_observed: Observe,
    message: str,
    reason: str,
    what_to_do: str,
) -> None:
    minimal["spec"]["model"]["source"] = {"pvc": {"claimName": "weights"}}
    model = in_cluster(minimal)
    waits = pod("engine", **unschedulable(f"0/1 nodes are available: {message}"))
    observed = with_pods(starting(as_observed(desired(model, setting, {}))), waits)
    found = {each.type: each for each in conditions(view(model, observed, {}))}
    for kind in ("Ready", "SourceReady", "EngineAvailable", "Progressing"):
        assert (found[kind].status, found[kind].reason) == ("False", reason)
        assert "What to do:" in found[kind].message
        assert what_to_do in found[kind].message
    assert not observed.pods[0].waits_for_room


def test_a_claim_of_something_else_that_is_missing_is_not_the_source(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    minimal["spec"]["model"]["source"] = {"pvc": {"claimName": "weights"}}
    model = in_cluster(minimal)
    waits = pod("engine", **unschedulable('0/1 nodes are available: persistentvolumeclaim "other" not found.'))
    observed = with_pods(starting(as_observed(desired(model, setting, {}))), waits)
    found = said(view(model, observed, {}))
    assert found["SourceReady"] == ("Unknown", "VolumeNotFound")  # nobody has mounted the source to know
    assert found["EngineAvailable"] == ("False", "VolumeNotFound")


def test_a_volume_is_ready_once_an_engine_has_started_with_it_and_not_before(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    minimal["spec"]["model"]["source"] = {"pvc": {"claimName": "weights", "path": "m"}}
    model = in_cluster(minimal)
    objects = desired(model, setting, {})

    def source(*pods: Body) -> tuple[str, str]:
        return said(view(model, with_pods(starting(as_observed(objects)), *pods), {}))["SourceReady"]

    assert said(view(model, Observed(), {}))["SourceReady"] == ("False", "Mounting")
    assert source(pod("engine", containerStatuses=[container("engine")])) == ("False", "Mounting")
    lost = {"waiting": {"reason": "CreateContainerConfigError", "message": "failed to create subPath directory"}}
    no_path = pod("engine", containerStatuses=[container("engine", state=lost)])
    assert source(no_path) == ("Unknown", "CreateContainerConfigError")
    begun = pod("engine", containerStatuses=[container("engine", state={"running": {}})])
    assert source(begun) == ("True", "Mounted")
    assert said(view(model, as_observed(objects), {}))["SourceReady"] == ("True", "Mounted")
    minimal["spec"]["suspend"] = True
    assert said(view(in_cluster(minimal), Observed(), {}))["SourceReady"] == ("Unknown", "NotNeeded")


def test_a_claim_without_a_volume_is_named(full: Body, in_cluster: Read) -> None:
    model = in_cluster(full)
    children = {("PersistentVolumeClaim", "qwen3-embed-model"): {"status": {"phase": "Pending"}}}
    found = {each.type: each for each in conditions(view(model, Observed(children), {}))}
    assert found["SourceReady"].reason == "VolumePending"
    assert "StorageClass fast" in found["SourceReady"].message
