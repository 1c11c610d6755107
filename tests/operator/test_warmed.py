"""GraphsWarmed: what engines tell of their warm-up, and what of it stands in the status."""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import grpc
import grpc.aio
import pytest
from trellis_operator.cluster.engines import MOST, warmth_of
from trellis_operator.desired.all import desired
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.pod_view import PodView, pod_view
from trellis_operator.plan.warmth import Warmth
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.status import conditions, status
from trellis_operator.status.view import View, view
from trellis_operator.status.warmed import graphs_warmed
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1 import embedding_pb2_grpc

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]
Observe = Callable[[Iterable[Body]], Observed]
CAPTURING = Warmth("m-engine-a", "capturing", keys=40, captured=12, key="256x8", has_graphs=True)
DONE = Warmth("m-engine-b", "done", keys=40, captured=40, has_graphs=True)
FAILED = Warmth(
    "m-engine-c", "done", keys=40, captured=39, has_graphs=True, failures=(("256x8", "an operation that waits"),)
)
CROWDED = Warmth(
    "m-engine-e", "done", 40, 40, has_graphs=True, crowded=(("512x8", "CUDA out of memory. Tried to allocate 2 GiB."),)
)
WITHOUT = Warmth("m-engine-d", "done")


@pytest.fixture
def seen(minimal: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe) -> Callable[..., View]:
    """A look at a model whose engines have this many replicas ready, on this manifest, and tell this."""

    def look(*warmth: Warmth, ready: int = 0, engine: Body | None = None, pods: tuple[Body, ...] = ()) -> View:
        minimal["spec"]["engine"] = {"accelerator": {}} if engine is None else engine
        model = in_cluster(minimal)
        observed = as_observed(desired(model, setting, {}))
        observed.children["Deployment", "all-minilm-l6-v2-engine"]["status"]["readyReplicas"] = ready
        return view(model, Observed(observed.children, tuple(map(pod_view, pods))), {}, warmth=warmth)

    return look


@pytest.mark.parametrize(
    ("warmth", "expected", "warmed"),
    [
        ((Warmth("m-engine-a", "loading"),), ("False", "Loading", "m-engine-a loads the model"), None),
        ((CAPTURING,), ("False", "Capturing", "captured 12 of 40 keys, 256x8 is under way; 0 of 1 engines"), 12),
        ((CAPTURING, DONE), ("False", "Capturing", "m-engine-a captured 12 of 40 keys"), 12),
        (
            (Warmth("m-engine-a", "verifying", 40, 40, "64x2", True),),
            ("False", "Verifying", "captured 40 of 40 keys, and compares their vectors, 64x2 is under way"),
            40,
        ),
        ((DONE,), ("True", "Warmed", "each engine has captured 40 of 40 keys"), 40),
        ((WITHOUT,), ("True", "NotNeeded", "the device of these engines has no graphs"), None),
        (
            (FAILED, DONE),
            ("False", "CaptureFailed", "m-engine-c could not capture 256x8: an operation that waits. Batches of"),
            39,
        ),
        ((FAILED, CAPTURING), ("False", "CaptureFailed", "What to do: take them out of engine.cudaGraphs.prewarm"), 12),
        (
            (DONE, CROWDED),
            (
                "False",
                "OutOfMemory",
                "m-engine-e had no room for a step of 512x8: CUDA out of memory. Tried to allocate",
            ),
            40,
        ),
        # A text that has no room fails; a size without a graph is only slower.
        ((FAILED, CROWDED), ("False", "OutOfMemory", "What to do: lower engine.batching.maxBatchTokens"), 39),
    ],
)
def test_the_condition_and_the_column_say_what_engines_tell(
    seen: Callable[..., View], warmth: tuple[Warmth, ...], expected: tuple[str, str, str], warmed: int | None
) -> None:
    looked = seen(*warmth)
    found = graphs_warmed(looked)
    assert (found.status, found.reason) == expected[:2]
    assert expected[2] in found.message
    told = status(looked, conditions(looked), {}, "2026-01-01T00:00:00Z")
    assert told["engine"].get("warmedGraphs") == warmed


def test_many_failures_are_told_in_a_few_words(seen: Callable[..., View]) -> None:
    failures = tuple((f"{64 * each}x8", "an operation that waits") for each in range(1, 17))
    message = graphs_warmed(seen(Warmth("m-engine-a", "done", 16, 0, "", True, failures))).message
    assert message.count("could not capture") == 3
    assert "and 13 more" in message


@pytest.mark.parametrize(
    ("engine", "ready", "pods", "expected"),
    [
        ({}, 0, (), ("True", "NotNeeded")),
        ({"accelerator": {}, "cudaGraphs": {"mode": "off"}}, 0, (), ("True", "NotNeeded")),
        ({"accelerator": {}}, 1, (), ("True", "Warmed")),
        ({"accelerator": {}}, 0, (), ("False", "NoEngine")),
    ],
)
def test_where_no_engine_tells_anything_it_goes_by_the_manifest_and_by_readiness(
    seen: Callable[..., View], engine: Body, ready: int, pods: tuple[Body, ...], expected: tuple[str, str]
) -> None:
    found = graphs_warmed(seen(ready=ready, engine=engine, pods=pods))
    assert (found.status, found.reason) == expected


def test_an_engine_that_ended_its_start_says_why(seen: Callable[..., View]) -> None:
    late = (
        "tulip: --warmup-timeout-seconds: not ready after 600 s (capturing, 12 of 40 graphs captured, 256x8 under way)"
    )
    ended = {"terminated": {"exitCode": 2, "reason": "Error", "message": f"tulip: loading\n{late}\n"}}
    pod = {
        "metadata": {"name": "m-engine-a", "labels": {"app.kubernetes.io/component": "engine"}},
        "status": {"containerStatuses": [{"name": "engine", "ready": False, "state": {}, "lastState": ended}]},
    }
    found = graphs_warmed(seen(pods=(pod,)))
    assert (found.status, found.reason) == ("False", "Error")
    assert "12 of 40 graphs captured" in found.message


class Engine(embedding_pb2_grpc.EmbeddingServicer):
    """Tells what the test wants, and only those who ask for engines that start."""

    def __init__(self) -> None:
        self.info: pb.InfoResponse | None = None
        self.asked = 0

    async def Info(self, request: pb.InfoRequest, context: Any) -> pb.InfoResponse:
        self.asked += 1
        if self.info is None or not request.starting:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the model is loading")
        return self.info


@pytest.fixture
async def engine() -> AsyncIterator[tuple[Engine, int]]:
    """An engine on 127.0.0.1, and its port."""
    servicer, server = Engine(), grpc.aio.server()
    embedding_pb2_grpc.add_EmbeddingServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    yield servicer, port
    await server.stop(0)


def pod_at(address: str, name: str = "m-engine-a") -> PodView:
    return pod_view({"metadata": {"name": name}, "status": {"podIP": address}})


async def test_an_engine_is_asked_how_far_its_warm_up_is(engine: tuple[Engine, int]) -> None:
    servicer, port = engine
    servicer.info = pb.InfoResponse(
        contents="c0",
        revision="main-1",
        warmup=pb.Warmup(stage="capturing", keys=40, captured=12, key="256x8"),
        graphs=pb.Graphs(
            failures=[pb.GraphFailure(key="64x2", why="no")], crowded=[pb.GraphFailure(key="512x8", why="full")]
        ),
    )
    told = await warmth_of([pod_at("127.0.0.1")], port)
    seen = Warmth(
        "m-engine-a", "capturing", 40, 12, "256x8", True, (("64x2", "no"),), "c0", "main-1", (("512x8", "full"),)
    )
    assert told == (seen,)


async def test_engines_that_have_no_address_or_do_not_answer_or_are_older_are_not_told_of(
    engine: tuple[Engine, int],
) -> None:
    servicer, port = engine
    assert await warmth_of([pod_at(""), pod_at("127.0.0.1"), pod_at("127.0.0.2", "m-engine-b")], port) == ()
    servicer.info = pb.InfoResponse(model_name="m")
    assert await warmth_of([pod_at("127.0.0.1")], port) == ()


async def test_of_very_many_engines_some_are_asked(engine: tuple[Engine, int]) -> None:
    servicer, port = engine
    servicer.info = pb.InfoResponse(warmup=pb.Warmup(stage="done"))
    told = await warmth_of([pod_at("127.0.0.1", f"m-engine-{number}") for number in range(MOST + 5)], port)
    assert len(told) == servicer.asked == MOST
