"""What the status says about what was seen."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from trellis_operator.desired.all import desired
from trellis_operator.desired.download import job_name
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.pod_view import pod_view
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.condition import Condition, changed, written
from trellis_operator.status.refusal import Refusal, name_taken, refusal
from trellis_operator.status.status import conditions, status, with_removals
from trellis_operator.status.view import View, view

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]
Observe = Callable[[Iterable[Body]], Observed]
ALL = [
    "Ready",
    "Accepted",
    "SourceReady",
    "EngineAvailable",
    "GraphsWarmed",
    "GatewayAvailable",
    "Progressing",
    "Degraded",
    "Autoscaled",
]


def said(seen: View) -> dict[str, tuple[str, str]]:
    return {each.type: (each.status, each.reason) for each in conditions(seen)}


def pod(component: str, **status: Any) -> Body:
    labels = {"app.kubernetes.io/component": component}
    return {"metadata": {"name": f"{component}-pod", "labels": labels}, "status": status}


def with_pods(observed: Observed, *pods: Body) -> Observed:
    return Observed(observed.children, tuple(pod_view(each) for each in pods))


def starting(observed: Observed) -> Observed:
    """Nothing is ready yet."""
    for child in observed.children.values():
        if child["kind"] == "Deployment":
            child["status"] |= {"readyReplicas": 0}
    return observed


@pytest.fixture
def serving(minimal: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe) -> View:
    model = in_cluster(minimal)
    return view(model, as_observed(desired(model, setting, {})), {})


def test_all_conditions_are_there_from_the_first_visit(minimal: Body, in_cluster: Read) -> None:
    found = said(view(in_cluster(minimal), Observed(), {}))
    assert list(found) == ALL
    assert found["Ready"] == ("False", "Fetching")
    assert found["Accepted"] == ("True", "Valid")
    assert found["Degraded"] == ("False", "AsAskedFor")


def test_what_serves_is_ready_complete_and_not_degraded(serving: View) -> None:
    assert said(serving) == {
        "Ready": ("True", "Serving"),
        "Accepted": ("True", "Valid"),
        "SourceReady": ("True", "Fetched"),
        "EngineAvailable": ("True", "AllReady"),
        "GraphsWarmed": ("True", "NotNeeded"),
        "GatewayAvailable": ("True", "AllReady"),
        "Progressing": ("True", "Complete"),
        "Degraded": ("False", "AsAskedFor"),
        "Autoscaled": ("False", "NotAskedFor"),
    }


def test_the_status_tells_the_numbers_the_digest_the_url_and_the_selector(serving: View) -> None:
    found = status(serving, conditions(serving), {}, "2026-01-01T00:00:00Z")
    assert found["observedGeneration"] == 3
    assert found["modelDigest"].startswith("sha256:")
    assert found["url"] == "http://all-minilm-l6-v2.search.svc"
    assert found["engine"] == {
        "replicas": 1,
        "readyReplicas": 1,
        "updatedReplicas": 1,
        "selector": "app.kubernetes.io/instance=all-minilm-l6-v2,app.kubernetes.io/component=engine",
    }
    assert found["resolved"]["engineImage"] == "e:1"
    assert found["resolved"]["revision"] == "0.1.0"


UNSCHEDULABLE = {
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
        }
    ]
}


def container(name: str, **state: Any) -> Body:
    return {"name": name, "ready": False, **state}


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (UNSCHEDULABLE, "NoCapacity"),
        (
            {"containerStatuses": [container("engine", state={"waiting": {"reason": "ImagePullBackOff"}})]},
            "ImagePull",
        ),
        (
            {
                "containerStatuses": [
                    container(
                        "engine",
                        state={"waiting": {"reason": "CrashLoopBackOff"}},
                        lastState={"terminated": {"exitCode": 137, "reason": "OOMKilled"}},
                    )
                ]
            },
            "OOMKilled",
        ),
        ({"containerStatuses": [container("engine", state={"waiting": {"reason": "ContainerCreating"}})]}, "Starting"),
    ],
)
def test_an_engine_that_does_not_start_says_why(serving: View, trouble: Body, reason: str) -> None:
    observed = with_pods(starting(serving.observed), pod("engine", **trouble))
    found = said(view(serving.model, observed, {}))
    assert found["EngineAvailable"] == ("False", reason)
    assert found["Ready"][0] == "False"


def test_a_rollout_that_waits_for_an_accelerator_says_so_while_the_old_engines_serve(
    full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    full["spec"].pop("cache")
    model = in_cluster(full)
    observed = as_observed(desired(model, setting, {}))
    observed.children["Deployment", "qwen3-embed-engine"]["status"]["updatedReplicas"] = 1
    found = said(view(model, with_pods(observed, pod("engine", **UNSCHEDULABLE)), {}))
    assert found["Progressing"] == ("False", "NoCapacity")
    assert found["Ready"] == ("True", "Serving")


def test_engines_that_wait_for_an_accelerator_say_nothing_against_the_source_which_nobody_asked_yet(
    serving: View,
) -> None:
    waiting = pod("engine", **UNSCHEDULABLE)
    found = said(view(serving.model, with_pods(starting(serving.observed), waiting), {}))
    assert found["SourceReady"] == ("Unknown", "NoCapacity")
    assert found["Ready"] == ("False", "NoCapacity")
    failed = {"terminated": {"exitCode": 2, "reason": "Error", "message": '{"reason": "Unauthorized", "message": "m"}'}}
    asked = pod("engine", initContainerStatuses=[container("fetch", state=failed)])
    found = said(view(serving.model, with_pods(serving.observed, waiting, asked), {}))
    assert found["SourceReady"] == ("False", "Unauthorized")


def unschedulable(message: str) -> Body:
    return {
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}],
    }


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


@pytest.mark.parametrize(
    "message",
    [
        "0/2 nodes are available: 2 Insufficient nvidia.com/gpu.",
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't find available persistent volumes to bind.",
        "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. not found",
    ],
)
def test_what_waits_for_a_node_waits_for_room(serving: View, message: str) -> None:
    observed = with_pods(starting(serving.observed), pod("engine", **unschedulable(message)))
    assert said(view(serving.model, observed, {}))["EngineAvailable"] == ("False", "NoCapacity")
    assert observed.pods[0].waits_for_room


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ('{"reason": "Unauthorized", "message": "the token is wrong"}', "Unauthorized"),
        ("Traceback\nthe last line", "Error"),
        ("", "Error"),
    ],
)
def test_a_fetch_that_failed_tells_its_own_reason(serving: View, message: str, reason: str) -> None:
    ended = {"terminated": {"exitCode": 2, "reason": "Error", "message": message}}
    observed = with_pods(
        starting(serving.observed),
        pod("engine", initContainerStatuses=[container("fetch", state=ended)]),
    )
    found = {each.type: each for each in conditions(view(serving.model, observed, {}))}
    assert (found["SourceReady"].status, found["SourceReady"].reason) == ("False", reason)
    assert found["Ready"].reason == reason


@pytest.mark.parametrize(
    ("job_status", "expected"),
    [
        (None, ("False", "Downloading")),
        ({"active": 1}, ("False", "Downloading")),
        ({"conditions": [{"type": "Complete", "status": "True"}]}, ("True", "Downloaded")),
        (
            {"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]},
            ("False", "DeadlineExceeded"),
        ),
    ],
)
def test_a_download_tells_how_it_stands(
    full: Body, in_cluster: Read, job_status: Body | None, expected: tuple[str, str]
) -> None:
    model = in_cluster(full)
    job = {"kind": "Job", "metadata": {"name": job_name(model, {})}, "status": job_status}
    children = {("Job", job_name(model, {})): job} if job_status is not None else {}
    assert said(view(model, Observed(children), {}))["SourceReady"] == expected


def test_a_claim_without_a_volume_is_named(full: Body, in_cluster: Read) -> None:
    model = in_cluster(full)
    children = {("PersistentVolumeClaim", "qwen3-embed-model"): {"status": {"phase": "Pending"}}}
    found = {each.type: each for each in conditions(view(model, Observed(children), {}))}
    assert found["SourceReady"].reason == "VolumePending"
    assert "StorageClass fast" in found["SourceReady"].message


def test_suspended_is_said_and_is_no_failure(minimal: Body, in_cluster: Read) -> None:
    minimal["spec"]["suspend"] = True
    found = said(view(in_cluster(minimal), Observed(), {}))
    assert found["Ready"] == ("False", "Suspended")
    assert found["Degraded"] == ("False", "Suspended")


def test_what_was_refused_is_said_and_what_serves_goes_on_serving(serving: View) -> None:
    refused = refusal(("Deployment", "x-engine"), 403, "exceeded quota: team")
    found = {each.type: each for each in conditions(view(serving.model, serving.observed, {}, refusals=[refused]))}
    assert (found["Accepted"].status, found["Accepted"].reason) == ("False", "QuotaExceeded")
    assert "raise the ResourceQuota" in found["Accepted"].message
    assert found["Degraded"].holds
    assert found["Ready"].holds


@pytest.mark.parametrize("state", ["waiting", "terminated"])
def test_a_container_that_a_webhook_puts_into_pods_is_told_from_our_own(serving: View, state: str) -> None:
    detail = {"waiting": {"reason": "ErrImagePull"}, "terminated": {"exitCode": 1, "reason": "Error"}}
    for name, ours in (("mesh", False), ("gateway", True)):
        containers = [{"name": name, "ready": False, "state": {state: detail[state]}}]
        unready = pod("gateway", containerStatuses=containers)
        observed = with_pods(starting(serving.observed), unready)
        message = next(
            each.message for each in conditions(view(serving.model, observed, {})) if each.type == "Degraded"
        )
        assert ("What to do: ask who runs that webhook" in message) is not ours, message


def test_a_name_that_someone_else_has_is_left_alone_and_told(serving: View) -> None:
    taken: Refusal = name_taken(("Service", "all-minilm-l6-v2"))
    found = said(view(serving.model, Observed(), {}, refusals=[taken]))
    assert found["Accepted"] == ("False", "NameTaken")
    assert found["Ready"] == ("False", "NameTaken")


def test_a_missing_secret_or_kind_is_told(serving: View) -> None:
    assert said(view(serving.model, serving.observed, {}, missing_secrets=["keys"]))["Accepted"][1] == "SecretNotFound"
    assert (
        said(view(serving.model, serving.observed, {}, missing_kinds=["HTTPRoute"]))["Accepted"][1] == "KindNotServed"
    )


def test_a_source_that_cannot_be_had_is_told_before_its_pods_fail(serving: View) -> None:
    found = said(view(serving.model, Observed(), {}, source_lacks=("PathNeeded", "name the folder")))
    assert found["Accepted"] == found["Ready"] == ("False", "PathNeeded")


def test_a_transition_keeps_its_time_until_the_status_changes() -> None:
    first = written([Condition("Ready", "False", "Starting", "")], [], 1, "t1")
    second = written([Condition("Ready", "False", "ImagePull", "")], first, 1, "t2")
    third = written([Condition("Ready", "True", "Serving", "")], second, 1, "t3")
    assert [each[0]["lastTransitionTime"] for each in (first, second, third)] == ["t1", "t1", "t3"]


def test_only_what_says_something_else_is_news() -> None:
    before = written(
        [Condition("Ready", "False", "Starting", "a"), Condition("Accepted", "True", "Valid", "")], [], 1, "t"
    )
    now = [Condition("Ready", "False", "Starting", "b"), Condition("Accepted", "False", "Invalid", "")]
    assert changed(now, before) == now[1:]


def test_a_status_is_merged_so_that_nothing_of_the_old_one_is_left() -> None:
    before = {"url": "http://x", "resolved": {"revision": "1", "engineImage": "e"}, "gone": {"a": 1}}
    wanted = {"url": "http://x", "resolved": {"engineImage": "f"}, "engine": {"replicas": 1}}
    assert with_removals(wanted, before) == {
        "url": "http://x",
        "resolved": {"engineImage": "f", "revision": None},
        "engine": {"replicas": 1},
        "gone": None,
    }


def test_engines_that_fail_later_are_no_download_and_no_rollout(serving: View) -> None:
    observed = starting(serving.observed)
    for child in observed.children.values():
        if child["kind"] == "Deployment":
            done = {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"}
            child["status"]["conditions"] = [done]
    initialized = {"conditions": [{"type": "Initialized", "status": "True"}]}
    found = said(view(serving.model, with_pods(observed, pod("engine", **initialized)), {}))
    assert found["SourceReady"] == ("True", "Fetched")
    assert found["Ready"] == ("False", "Starting")
    assert found["Progressing"] == ("True", "Complete")
    assert found["Degraded"] == ("True", "PodsNotReady")
