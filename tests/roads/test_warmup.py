"""The real engine with graphs on a CPU: what is told while it warms up, when it is ready, and what it does then."""

from pathlib import Path

import grpc
import numpy as np
import pytest
from roadkit.stack import Engine, Stack, Starter
from roadkit.waiting import until
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1 import embedding_pb2_grpc
from trellis_wire.v1.packing import pack_ids

pytestmark = pytest.mark.processes

_DEADLINE_S = 30.0
_FLAGS = ("--device", "cpu-graphs", "--threads", "1", "--graph-prewarm", "64x2,128x8")
_TEXT = [101, *range(2000, 2010), 102]
_HELD = """
import os, time
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
capture = CpuGraphDevice.capture
def held(self, step):
    while not os.path.exists({flag!r}):
        time.sleep(0.01)
    return capture(self, step)
CpuGraphDevice.capture = held
"""
_REFUSED = """
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.graphs.device import CaptureError
def refused(self, step):
    raise CaptureError("an operation that waits")
CpuGraphDevice.capture = refused
"""


def ask(engine: Engine, *, starting: bool) -> pb.InfoResponse:
    with grpc.insecure_channel(engine.address, [("grpc.enable_http_proxy", 0)]) as channel:
        stub = embedding_pb2_grpc.EmbeddingStub(channel)
        return stub.Info(pb.InfoRequest(starting=starting), timeout=_DEADLINE_S, wait_for_ready=True)


def embed(engine: Engine) -> np.ndarray:
    ids, lengths = pack_ids([_TEXT])
    request = pb.EmbedRequest(token_ids=ids, lengths=lengths, vector_type=pb.VECTOR_TYPE_FLOAT32)
    with grpc.insecure_channel(engine.address, [("grpc.enable_http_proxy", 0)]) as channel:
        answer = embedding_pb2_grpc.EmbeddingStub(channel).Embed(request, timeout=_DEADLINE_S, wait_for_ready=True)
    return np.frombuffer(answer.rows, "<f4")


def stands(engine: Engine, stage: str, key: str) -> bool:
    told = ask(engine, starting=True).warmup
    return (told.stage, told.key) == (stage, key)


def test_an_engine_is_ready_once_its_graphs_are_captured_and_replays_them(
    starter: Starter, stack: Stack, tmp_path: Path
) -> None:
    flag = tmp_path / "go on"
    engine = starter.engine(*_FLAGS, code=_HELD.format(flag=str(flag)), name="engine with graphs", wait=False)
    until(lambda: engine.program.alive and stands(engine, "capturing", "128x8"), "the first capture", 60)
    assert (engine.health("readiness"), engine.health("liveness")) == ("NOT_SERVING", "SERVING")
    assert (engine.metric("graph_to_prewarm"), engine.metric("graph_prewarmed")) == (2, 0)
    for call in (lambda: ask(engine, starting=False), lambda: embed(engine)):
        with pytest.raises(grpc.RpcError) as refused:
            call()
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    flag.touch()
    until(lambda: engine.health("readiness") == "SERVING", "it is ready", 60)
    told = ask(engine, starting=False)
    assert (told.warmup.stage, told.warmup.captured, told.warmup.keys, told.device) == ("done", 2, 2, "cpu-graphs")
    assert (engine.metric("graph_held"), engine.metric("graph_captures_total")) == (2, 2)
    replays, eager = engine.metric("graph_replays_total"), engine.metric("graph_eager_steps_total")
    pads = engine.metric("graph_pad_tokens_total"), engine.metric("graph_pad_sequences_total")
    assert np.allclose(embed(engine), embed(stack.engine), atol=1e-5)
    assert engine.metric("graph_replays_total") == replays + 1
    assert engine.metric("graph_eager_steps_total") == eager
    padded = engine.metric("graph_pad_tokens_total"), engine.metric("graph_pad_sequences_total")
    assert padded == (pads[0] + 64 - len(_TEXT), pads[1] + 1)
    assert engine.metric("max_batch_tokens") > engine.metric("tokens_total") == len(_TEXT)
    starter.stop(engine.program)


def test_graphs_that_cannot_be_captured_leave_an_engine_that_serves_and_says_so(starter: Starter) -> None:
    engine = starter.engine(*_FLAGS, code=_REFUSED, name="engine without its graphs")
    told = ask(engine, starting=False)
    assert [(each.key, each.why) for each in told.graphs.failures] == [
        ("128x8", "an operation that waits"),
        ("64x2", "an operation that waits"),
    ]
    assert engine.metric("graph_capture_failures_total") == 2
    assert embed(engine).shape == (384,)
    starter.stop(engine.program)


def test_where_a_failed_capture_is_to_end_the_start_it_does_in_one_line(
    starter: Starter,
) -> None:
    flags = (*_FLAGS, "--graph-capture-failure", "fail")
    engine = starter.engine(*flags, code=_REFUSED, name="engine that ends", wait=False)
    assert engine.program.wait() == 2
    assert engine.program.tail(1) == "tulip: graphs.prewarm: 128x8 could not be captured: an operation that waits"
