"""Captures of the device of CUDA, over a GPU that is not there: where they go, and what becomes of those that fail."""

from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from graphkit.errors import INVALIDATED, NO_ROOM, STICKY, UNSUPPORTED
from graphkit.fake_cuda import FakeCuda, FakeGraphDevice
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import EngineDeadError
from tulip_rose.rose.options import GraphOptions

ONE = GraphOptions(multiple=16, slots=(2, 8, 32), most_tokens=512, most=1)


def test_graphs_are_captured_beside_the_steps_and_share_a_pool(
    cuda: FakeCuda, engine: Engine, texts_of: Any, embed: Any
) -> None:
    for _ in range(2):
        for lengths in ([5], [20], [40, 3]):
            embed(engine, texts_of(lengths))
    streams, pools = zip(*cuda.captures, strict=True)
    assert len(streams) == 3
    assert {*pools} == {1}
    assert len({*streams}) == 1
    assert streams[0] is not cuda.current


def test_a_thread_that_captures_first_does_the_step_before_so_that_libraries_have_their_handles(
    cuda: FakeCuda, engine: Engine, texts_of: Any, embed: Any
) -> None:
    embed(engine, texts_of([20, 9]))
    before, found = dict(cuda.asked), list[Any]()
    thread = Thread(target=lambda: found.extend(embed(engine, texts_of([20, 9])) for _ in range(2)))
    thread.start()
    thread.join(30)
    asked = {what: cuda.asked[what] - before.get(what, 0) for what in ("use", "run", "capture", "replay")}
    assert asked == {"use": 2, "run": 1, "capture": 1, "replay": 2}


def test_graphs_that_are_warmed_up_are_those_that_are_replayed_also_where_heads_run_behind(
    folder: Path, load: Any, texts_of: Any, embed: Any
) -> None:
    for inside in (True, False):
        device = FakeGraphDevice(FakeCuda(), heads_in_graphs=inside)
        engine = load(folder, device, graphs=GraphOptions(multiple=16, slots=(2, 8), prewarm=((32, 8),)))
        engine.prewarm()
        before = engine.graphs
        embed(engine, texts_of([20, 9]))
        padded = {"pad_tokens": before.pad_tokens + 3, "pad_sequences": before.pad_sequences + 6}
        assert engine.graphs == replace(before, replayed=before.replayed + 1, **padded)


def test_a_capture_that_cannot_be_leaves_its_sizes_eager_and_says_what_came_first(
    cuda: FakeCuda, engine: Engine, texts_of: Any, embed: Any, caplog: pytest.LogCaptureFixture
) -> None:
    embed(engine, texts_of([20, 9]))
    cuda.next, cuda.ends = UNSUPPORTED, INVALIDATED
    for _ in range(3):
        assert np.isfinite(embed(engine, texts_of([20, 9]))).all()
    assert (engine.graphs.capture_failed, engine.graphs.captured) == (1, 0)
    assert "operation not permitted when stream is capturing" in caplog.text


@pytest.mark.parametrize(
    ("held", "ends", "pools"),
    [(False, None, [1, 2]), (True, None, [1, 1, 1]), (True, INVALIDATED, [1, 1, 2])],
    ids=["no graph is left in its pool", "a graph is left in its pool", "its pool could not be left"],
)
def test_after_a_capture_that_cannot_be_another_size_is_captured(
    cuda: FakeCuda, engine: Engine, texts_of: Any, embed: Any, held: bool, ends: Exception | None, pools: list[int]
) -> None:
    def twice(lengths: list[int], *, error: Exception | None = None) -> None:
        embed(engine, texts_of(lengths))
        cuda.next, cuda.ends = error, ends if error else None
        embed(engine, texts_of(lengths))

    if held:
        twice([5])
    twice([20, 9], error=UNSUPPORTED)
    twice([40, 3])
    assert engine.graphs.failures == (("32x8", f"AcceleratorError: {UNSUPPORTED}"),)
    assert engine.graphs.captured == held + 1
    assert [pool for _, pool in cuda.captures] == pools


@pytest.mark.parametrize(
    ("soon", "pools"), [(False, [1, 1, 2]), (True, [1, 1, 1])], ids=["the graph has left", "the graph is leaving"]
)
def test_after_a_capture_that_cannot_be_a_pool_whose_last_graph_makes_room_is_captured_into_until_that_has_left(
    cuda: FakeCuda, folder: Path, load: Any, texts_of: Any, embed: Any, soon: bool, pools: list[int]
) -> None:
    engine = load(folder, FakeGraphDevice(cuda), graphs=ONE)
    for lengths in [5], [5], [20, 9], *([[40, 3]] if soon else []):
        embed(engine, texts_of(lengths))
    cuda.next = UNSUPPORTED
    for lengths in [20, 9], *([] if soon else [[40, 3]]), [40, 3]:
        embed(engine, texts_of(lengths))
    assert engine.graphs.failures == (("32x8", f"AcceleratorError: {UNSUPPORTED}"),)
    assert (engine.graphs.evicted, engine.graphs.captured) == (1, 2)
    assert [pool for _, pool in cuda.captures] == pools


def test_a_capture_without_memory_leaves_its_sizes_eager(
    cuda: FakeCuda, engine: Engine, texts_of: Any, embed: Any
) -> None:
    embed(engine, texts_of([20, 9]))
    cuda.next = NO_ROOM
    assert np.isfinite(embed(engine, texts_of([20, 9]))).all()
    assert (engine.graphs.capture_failed, engine.graphs.out_of_memory) == (1, 0)


def test_a_device_that_fails_in_a_capture_ends_the_engine(
    cuda: FakeCuda, engine: Engine, texts_of: Any, embed: Any
) -> None:
    embed(engine, texts_of([20, 9]))

    def breaks(*_: Any) -> Any:
        cuda.broken = STICKY
        raise INVALIDATED

    cuda.capture = breaks  # type: ignore[method-assign]
    with pytest.raises(EngineDeadError, match="illegal memory access"):
        embed(engine, texts_of([20, 9]))
