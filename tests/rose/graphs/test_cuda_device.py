"""The devices of CUDA over a GPU that is not there: what they ask of it, in which order, and what its errors become."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from graphkit.errors import NO_ROOM, STICKY
from graphkit.fake_cuda import HERE, FakeCuda, FakeEagerDevice, FakeGraphDevice
from tulip_rose.rose import cuda_device
from tulip_rose.rose.backends.chosen import ChosenAttention
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import EngineDeadError, LoadError, StepError, TooLargeError
from tulip_rose.rose.graphs import framed
from tulip_rose.rose.graphs.cuda_device import CudaGraphDevice
from tulip_rose.rose.graphs.state import NO_GRAPHS
from tulip_rose.rose.layers.kit import Kit, TorchKit
from tulip_rose.rose.options import GraphOptions
from tulip_rose.sequence import OutputForm, Sequence, VectorType

FORM = OutputForm(32)
ERROR = 2e-5


def batch_of(ids: list[Any]) -> Batch:
    return Batch.pack([Sequence.whole(own, FORM) for own in ids])


@pytest.mark.parametrize("inside", [True, False], ids=["heads within graphs", "heads behind them"])
def test_batches_back_to_back_equal_steps_without_graphs(
    folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any, *, inside: bool
) -> None:
    engine, loose = load(folder, FakeGraphDevice(FakeCuda(), heads_in_graphs=inside)), plain(folder)
    rng, flights = np.random.default_rng(3), list[tuple[Any, Any]]()
    for _ in range(150):
        ids = texts_of(rng.integers(1, 40, rng.integers(1, 5)).tolist())
        form = OutputForm(32, vector_type=VectorType.INT8) if rng.random() < 0.1 else engine.card.form()
        batch = Batch.pack([Sequence.whole(own, form) for own in ids])
        flights.append((engine.step(batch), loose.step(batch)))
        while len(flights) > rng.integers(0, 3):
            found, expected = (flight.wait(30).array() for flight in flights.pop(0))
            np.testing.assert_allclose(found, expected, atol=1 if found.dtype == np.int8 else ERROR)
    assert min(engine.graphs.replayed, engine.graphs.captured, engine.graphs.eager) > 5


def test_after_warm_up_a_step_takes_no_memory_and_waits_for_nothing_but_its_event(
    cuda: FakeCuda, engine: Engine, texts_of: Any
) -> None:
    form = engine.card.form()
    for _ in range(5):
        engine.step(Batch.pack([Sequence.whole(ids, form) for ids in texts_of([5, 4])])).wait()
    cuda.asked.clear()
    for _ in range(20):
        engine.step(Batch.pack([Sequence.whole(ids, form) for ids in texts_of([6, 3])])).wait()
    assert cuda.asked == {"use": 20, "copy": 40, "replay": 20, "mark": 20, "synchronize": 20}


def test_the_slot_of_a_step_that_failed_half_way_is_kept_until_its_copies_are_made(
    cuda: FakeCuda, engine: Engine, plain: Any, folder: Path, texts_of: Any, embed: Any
) -> None:
    ring = engine.framed._ring
    embed(engine, texts_of([9]))
    slot = ring.take()
    cuda.next = NO_ROOM
    with pytest.raises(TooLargeError):
        engine.step(batch_of(texts_of([20, 9])))
    assert ring.take() is not slot
    assert not ring.idle
    ids = texts_of([7])
    np.testing.assert_allclose(embed(engine, ids), embed(plain(folder), ids), atol=ERROR)
    assert ring.idle


def test_the_slot_of_a_step_whose_planning_raised_is_kept_until_what_it_began_is_done(
    cuda: FakeCuda, engine: Engine, texts_of: Any, embed: Any
) -> None:
    class Plans:
        def plan_ahead(self, starts: Any) -> None:
            raise ValueError("after a copy of what lies in the slot")

    framed = engine.framed
    ring = framed._ring
    slot = ring.take()
    framed._ahead = Plans()
    with pytest.raises(StepError, match="after a copy"):
        framed.launch(batch_of(texts_of([9])))
    framed._ahead = None
    assert ring.take() is not slot
    assert not ring.idle
    assert np.isfinite(embed(engine, texts_of([7]))).all()
    assert ring.idle


@pytest.mark.parametrize("graphs", [True, False], ids=["with graphs", "without"])
def test_what_the_host_cannot_do_with_a_result_fails_that_step_alone(
    folder: Path, load: Any, texts_of: Any, embed: Any, monkeypatch: pytest.MonkeyPatch, *, graphs: bool
) -> None:
    device = FakeGraphDevice(FakeCuda(), heads_in_graphs=False) if graphs else FakeEagerDevice(FakeCuda())
    engine = load(folder, device)

    def fails(*_: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(framed if graphs else cuda_device, "taken" if graphs else "part_of", fails)
        step = engine.step(batch_of(texts_of([20, 9])))
        with pytest.raises(StepError, match="MemoryError"):
            step.wait(30)
    assert np.isfinite(embed(engine, texts_of([7]))).all()


@pytest.mark.parametrize("graphs", [True, False], ids=["with graphs", "without"])
def test_what_a_step_raises_is_sorted(folder: Path, load: Any, texts_of: Any, embed: Any, *, graphs: bool) -> None:
    cuda = FakeCuda()
    engine = load(folder, FakeGraphDevice(cuda) if graphs else FakeEagerDevice(cuda))
    cuda.next = NO_ROOM
    with pytest.raises(TooLargeError, match="29 tokens: no room in memory"):
        embed(engine, texts_of([20, 9]))
    cuda.next = RuntimeError("a shape is wrong")
    with pytest.raises(StepError, match="a shape is wrong"):
        embed(engine, texts_of([100]))
    assert np.isfinite(embed(engine, texts_of([7]))).all()
    cuda.next = STICKY
    with pytest.raises(EngineDeadError, match="illegal memory access"):
        embed(engine, texts_of([60]))


def test_an_error_that_says_nothing_of_the_device_ends_the_engine_when_the_device_says_so(
    cuda: FakeCuda, engine: Engine, texts_of: Any, embed: Any
) -> None:
    def breaks(*_: Any) -> None:
        cuda.broken = STICKY
        raise RuntimeError("kernel launch returned 700")

    cuda.run = breaks  # type: ignore[assignment, method-assign]
    with pytest.raises(EngineDeadError, match="illegal memory access"):
        embed(engine, texts_of([20, 9]))


def test_a_device_that_fails_while_a_step_is_waited_for_ends_the_engine(
    cuda: FakeCuda, engine: Engine, texts_of: Any
) -> None:
    flight = engine.step(Batch.pack([Sequence.whole(texts_of([5])[0], engine.card.form())]))
    assert not flight.ready()
    cuda.broken = STICKY
    assert flight.ready()
    for _ in range(2):
        with pytest.raises(EngineDeadError, match="cpu failed: CUDA error: an illegal memory access"):
            flight.wait()


def test_a_wait_with_a_limit_ends_with_it(cuda: FakeCuda, engine: Engine, texts_of: Any) -> None:
    flight = engine.step(Batch.pack([Sequence.whole(texts_of([5])[0], engine.card.form())]))
    cuda.stalled = True
    with pytest.raises(TimeoutError, match=r"a step is not done after 0\.01 s"):
        flight.wait(0.01)
    assert flight.wait().array().shape == (1, 32)


def test_steps_without_graphs_leave_their_rows_in_pinned_memory_behind_an_event(
    folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any
) -> None:
    cuda = FakeCuda()
    engine = load(folder, FakeEagerDevice(cuda))
    assert engine.graphs == NO_GRAPHS
    flight = engine.step(Batch.pack([Sequence.whole(own, engine.card.form()) for own in texts_of([5, 3])]))
    assert not flight.ready()
    ids = texts_of([9, 4, 4])
    np.testing.assert_allclose(embed(engine, ids), embed(plain(folder), ids), atol=ERROR)
    assert flight.ready()
    engine.close()
    assert cuda.asked["drain"] == 1


class NeverInGraphs(FakeGraphDevice):
    """Its attention is one that a graph cannot hold: float32 has no other."""

    def kit(self, dtype: str, attention: str) -> Kit:
        return TorchKit(self.torch_device, ChosenAttention(attention, self.torch_device, HERE))


@pytest.mark.parametrize("lacking", ["the package triton is not installed", None])
def test_kernels_of_our_own_are_taken_where_they_can_be_compiled_and_their_heads_run_within_graphs(
    cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, lacking: str | None
) -> None:
    made = SimpleNamespace(TritonKit=lambda attention: SimpleNamespace(attention=attention))
    monkeypatch.setattr(cuda_device, "wanting", lambda: lacking)
    monkeypatch.setitem(sys.modules, "tulip_rose.rose.kernels.kit", made)
    device = CudaGraphDevice(cuda)
    kit = device.kit("bfloat16", "auto")
    assert cuda.current is device._stream, "weights are made on another stream than that of the steps"
    assert isinstance(kit.attention, ChosenAttention)
    assert isinstance(kit, TorchKit) is (lacking is not None)
    assert device.heads_in_graphs is (lacking is None)
    assert ("the package triton is not installed" in caplog.text) is (lacking is not None)


def test_a_model_whose_attention_no_graph_can_hold_is_served_without(
    folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any, caplog: pytest.LogCaptureFixture
) -> None:
    engine, ids = load(folder, NeverInGraphs(FakeCuda())), texts_of([9, 4, 4])
    assert engine.graphs == NO_GRAPHS
    assert not engine.memory.planned
    assert "steps run without graphs: no attention backend can serve" in caplog.text
    np.testing.assert_allclose(embed(engine, ids), embed(plain(folder), ids), atol=ERROR)
    with pytest.raises(LoadError, match="no attention backend can serve"):
        load(folder, NeverInGraphs(FakeCuda()), graphs=GraphOptions(on_failure="fail"))
