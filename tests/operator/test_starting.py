"""EngineAvailable: why engines and gateways do not start, and what that says of the rollout."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from statuskit.pods import UNSCHEDULABLE, container, pod, starting, unschedulable, with_pods
from statuskit.said import said
from trellis_operator.desired.all import desired
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.observed import Observed
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.status import conditions
from trellis_operator.status.view import View, view

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]
Observe = Callable[[Iterable[Body]], Observed]


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
