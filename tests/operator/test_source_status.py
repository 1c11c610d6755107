"""SourceReady: of several attempts the newest counts, and an image that cannot be had is the trouble of its source."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from trellis_operator.desired.all import desired
from trellis_operator.desired.download import job_name
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.pod_view import pod_view
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.condition import Condition
from trellis_operator.status.status import conditions
from trellis_operator.status.view import View, view

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]
Observe = Callable[[Iterable[Body]], Observed]
REFERENCE = "registry.example.com/models/minilm:1"


def pod(name: str, component: str, minute: int = 0, job: str = "", **status: Any) -> Body:
    labels = {"app.kubernetes.io/component": component} | ({"batch.kubernetes.io/job-name": job} if job else {})
    created = f"2026-01-01T00:{minute:02}:00Z"
    return {"metadata": {"name": name, "labels": labels, "creationTimestamp": created}, "status": status}


def ended(reason: str) -> Body:
    """The status of a pod whose fetch has ended with a reason of its own."""
    word = json.dumps({"reason": reason, "message": f"because of {reason}"})
    state = {"terminated": {"exitCode": 75, "message": word}}
    return {"phase": "Failed", "containerStatuses": [{"name": "fetch", "ready": False, "state": state}]}


def running(name: str) -> Body:
    return {"phase": "Running", "containerStatuses": [{"name": name, "ready": True, "state": {"running": {}}}]}


def unpulled(container: str, message: str, kind: str = "containerStatuses") -> Body:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": message}}
    return {kind: [{"name": container, "ready": False, "state": waiting}]}


def said(seen: View) -> dict[str, Condition]:
    return {each.type: each for each in conditions(seen)}


@pytest.fixture
def downloading(full: Body, in_cluster: Read) -> Callable[..., Condition]:
    """What SourceReady says of a download with these pods; of a Job of this name, where none is given of its own."""
    model = in_cluster(full)

    def look(*pods: Body, job: Body | None = None) -> Condition:
        name = job_name(model, {})
        for each in pods:
            each["metadata"]["labels"].setdefault("batch.kubernetes.io/job-name", name)
        children = {("Job", name): {"kind": "Job", "metadata": {"name": name}, "status": job or {"active": 1}}}
        observed = Observed(children, tuple(sorted(map(pod_view, pods), key=lambda each: each.name)))
        return said(view(model, observed, {}))["SourceReady"]

    return look


def test_of_several_attempts_at_a_download_the_newest_tells_why(downloading: Callable[..., Condition]) -> None:
    found = downloading(pod("a", "download", 1, **ended("Stalled")), pod("b", "download", 2, **ended("DiskFull")))
    assert found.reason == "DiskFull"
    found = downloading(pod("b", "download", 1, **ended("Stalled")), pod("a", "download", 2, **ended("DiskFull")))
    assert (found.status, found.reason) == ("False", "DiskFull")
    assert "because of DiskFull" in found.message


def test_an_attempt_that_works_is_no_trouble_and_tells_how_the_one_before_it_ended(
    downloading: Callable[..., Condition],
) -> None:
    found = downloading(pod("a", "download", 1, **ended("Stalled")), pod("b", "download", 2, **running("fetch")))
    assert found.reason == "Downloading"
    assert "the attempt before this one failed: fetch of pod a: because of Stalled" in found.message


def test_pods_of_an_earlier_download_say_nothing_of_this_one(downloading: Callable[..., Condition]) -> None:
    found = downloading(
        pod("a", "download", 2, job="another", **ended("Unauthorized")), pod("b", "download", 1, **running("fetch"))
    )
    assert (found.reason, found.message) == ("Downloading", "the model is being downloaded")


def test_a_download_that_failed_tells_the_reason_of_its_last_attempt(downloading: Callable[..., Condition]) -> None:
    failed = {"conditions": [{"type": "Failed", "status": "True", "reason": "PodFailurePolicy"}]}
    pods = pod("z", "download", 1, **ended("Stalled")), pod("a", "download", 2, **ended("Unauthorized"))
    found = downloading(*pods, job=failed)
    assert found.reason == "Unauthorized"
    assert "What to do" in found.message


def test_a_download_without_a_node_or_without_a_pod_says_so(downloading: Callable[..., Condition]) -> None:
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available."}
    found = downloading(pod("a", "download", 1, conditions=[said]))
    assert (found.status, found.reason, "0/2 nodes" in found.message) == ("Unknown", "NoCapacity", True)
    found = downloading()
    assert found.reason == "Downloading"
    assert "kubectl describe job qwen3-embed-model-" in found.message


def test_an_evicted_pod_is_no_trouble_once_there_is_another_in_its_place(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    model = in_cluster(minimal)
    observed = as_observed(desired(model, setting, {}))
    evicted = pod("a", "engine", phase="Failed", reason="Evicted", message="the node was low on memory")
    found = said(view(model, Observed(observed.children, (pod_view(evicted),)), {}))
    assert found["Degraded"].reason == "AsAskedFor"
    observed.children["Deployment", "all-minilm-l6-v2-engine"]["status"]["readyReplicas"] = 0
    found = said(view(model, Observed(observed.children, (pod_view(evicted),)), {}))
    assert (found["Degraded"].reason, found["EngineAvailable"].reason) == ("Evicted", "Evicted")


@pytest.fixture
def from_image(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> Callable[..., dict[str, Condition]]:
    """What is said of a model that comes out of an image, whose engine is not ready and has this pod."""

    def look(**status: Any) -> dict[str, Condition]:
        minimal["spec"]["model"]["source"] = {"image": {"reference": REFERENCE, "path": "m"}}
        model = in_cluster(minimal)
        observed = as_observed(desired(model, setting, {}))
        observed.children["Deployment", "all-minilm-l6-v2-engine"]["status"]["readyReplicas"] = 0
        return said(view(model, Observed(observed.children, (pod_view(pod("a", "engine", **status)),)), {}))

    return look


@pytest.mark.parametrize(
    "status",
    [
        unpulled("copy", "not found", "initContainerStatuses"),
        unpulled("engine", f'Back-off pulling image "{REFERENCE}"'),
    ],
)
def test_an_image_of_a_model_that_cannot_be_had_is_the_trouble_of_the_source(
    from_image: Callable[..., dict[str, Condition]], status: Body
) -> None:
    found = from_image(**status)
    for kind in ("SourceReady", "Ready"):
        assert (found[kind].status, found[kind].reason) == ("False", "ImagePull")
        assert "spec.model.source.image" in found[kind].message


def test_an_image_is_ready_once_an_engine_has_it_also_where_the_engine_itself_cannot_start(
    from_image: Callable[..., dict[str, Condition]],
) -> None:
    assert (from_image()["SourceReady"].status, from_image()["SourceReady"].reason) == ("False", "Pulling")
    assert from_image(**running("engine"))["SourceReady"].reason == "Mounted"
    after = {"conditions": [{"type": "Initialized", "status": "True"}]}
    found = from_image(**after, **unpulled("engine", 'Back-off pulling image "e:1"'))
    assert (found["SourceReady"].reason, found["EngineAvailable"].reason) == ("Mounted", "ImagePull")


def test_what_a_source_lacks_stands_in_all_that_waits_for_it(minimal: Body, in_cluster: Read) -> None:
    lacks = ("PathNeeded", "spec.model.source.image.path is the whole image")
    found = said(view(in_cluster(minimal), Observed(), {}, source_lacks=lacks))
    for kind in ("Ready", "Accepted", "SourceReady", "Progressing"):
        assert (found[kind].status, found[kind].reason, found[kind].message) == ("False", *lacks)
