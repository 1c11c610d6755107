"""How steps over static buffers use their device: what they ask of it, when, and what they do when it fails."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from graphkit.everywhere import EVERYWHERE
from torch import Tensor
from tulip_rose.rose.batch import Batch, Ragged
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import EngineDeadError, LoadError, StepError, TooLargeError
from tulip_rose.rose.graphs import slot as slot_module
from tulip_rose.rose.graphs.book import PATIENCE
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.graphs.device import CaptureError, Graph, Step
from tulip_rose.rose.graphs.kit import FrameKit, OffsetsAttention
from tulip_rose.rose.graphs.state import NO_GRAPHS, GraphState
from tulip_rose.rose.layers.attention import Mask
from tulip_rose.rose.loop import EngineLoop
from tulip_rose.rose.options import GRAPHS_ON_CPU, EngineOptions, GraphOptions
from tulip_rose.sequence import Embedded, OutputForm, Sequence, Want

FORM = OutputForm(32, normalize=False)


def batch_of(ids: list[Any], form: OutputForm = FORM) -> Batch:
    return Batch.pack([Sequence.whole(own, form) for own in ids])


@EVERYWHERE
def test_after_warm_up_a_step_is_two_copies_a_replay_and_an_event_and_makes_no_view(
    where: str, folder: Path, load: Any, texts_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = load(folder)
    asked = engine._device.asked
    for lengths in ([5, 4], [6, 5]):
        engine.step(batch_of(texts_of(lengths))).wait(30)
    # The third step after a capture is the first that finds the views of its slot.
    for _ in range(3):
        engine.step(batch_of(texts_of([5, 4]))).wait(30)
    before, flights = dict(asked), []
    monkeypatch.setattr(slot_module, "Tray", None)
    monkeypatch.setattr(engine.framed._arena, "frame", None)
    for number in range(50):
        flights.append(engine.step(batch_of(texts_of([1 + number % 7, 3]))))
        if len(flights) == 2:
            flights.pop(0).wait(30)
    found = {what: asked[what] - before[what] for what in asked}
    assert found == {"empty": 0, "copy": 100, "run": 0, "capture": 0, "mark": 50, "wait": 49}
    assert engine.framed.ring_waits == 0
    flights.pop().wait(30)


def test_nothing_is_waited_for_until_somebody_asks_and_results_keep_until_then(
    folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any
) -> None:
    engine, loose = load(folder), plain(folder)
    ids = texts_of([5, 4])
    embed(engine, ids)
    before = engine._device.asked["wait"]
    flights = [engine.step(batch_of([own])) for own in ids]
    assert engine._device.asked["wait"] == before
    assert not any(flight.ready() for flight in flights)
    # Far more steps than the ring has slots: their results have been taken out of them.
    others = [engine.step(batch_of(texts_of([3]))) for _ in range(10)]
    for own, flight in zip(ids, flights, strict=True):
        for _ in range(2):
            np.testing.assert_allclose(flight.wait(30).array(), embed(loose, [own]), atol=2e-5)
    engine.close()
    assert all(other.ready() for other in others)


def test_a_capture_waits_for_an_idle_device(folder: Path, load: Any, texts_of: Any) -> None:
    engine = load(folder)
    engine.step(batch_of(texts_of([40, 2]))).wait(30)
    under_way = engine.step(batch_of(texts_of([5])))
    captured = engine.framed.counts.captured
    busy = engine.step(batch_of(texts_of([41, 1])))
    assert engine.framed.counts.captured == captured
    under_way.wait(30)
    busy.wait(30)
    engine.step(batch_of(texts_of([41, 2]))).wait(30)
    assert engine.framed.counts.captured == captured + 1


PREWARM = ((40, 3), (16, 1), (33, 8), (16, 2))


@EVERYWHERE
def test_prewarmed_graphs_are_there_before_the_first_batch_each_once_and_the_largest_first(
    where: str, folder: Path, load: Any, texts_of: Any
) -> None:
    engine = load(folder, graphs=GraphOptions(multiple=16, slots=(2, 8), most=2, prewarm=PREWARM))
    assert (engine.graphs.warmed, engine.graphs.to_warm) == (0, 2)
    told = list[tuple[int, int]]()
    engine.prewarm(lambda warmed, to_warm: told.append((warmed, to_warm)))
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert [(key.tokens, key.slots) for key in engine.framed.book.held] == [(48, 8), (16, 2)]
    before = engine.graphs
    assert (before.held, before.captured, before.warmed) == (2, 2, 2)
    engine.step(batch_of(texts_of([20, 13, 9]), engine.card.form())).wait(30)
    engine.step(batch_of(texts_of([9]), engine.card.form())).wait(30)
    # 42 tokens of 3 texts in 48 rows and 8 slots, 9 of one in 16 and 2. Before, that of the trial at load alone.
    assert (before.pad_tokens, before.pad_sequences) == (15, 1)
    assert engine.graphs == replace(before, replayed=before.replayed + 2, pad_tokens=15 + 13, pad_sequences=1 + 6)


@pytest.mark.parametrize(
    ("sizes", "key"),
    [
        # As a manifest names a graph: all of its rows and slots. Batches of it have pads, which own a slot.
        ((64, 8), (64, 8)),
        # More texts than tokens, so that no batch fills the slots.
        ((4, 5), (64, 8)),
        # Eight texts of at most 150 tokens are too short; seven with pads have 1025 to 1050.
        ((1280, 8), (1280, 8)),
        ((1088, 8), (1280, 8)),
        ((1024, 8), (1024, 8)),
    ],
)
def test_a_graph_is_named_by_its_rows_and_slots_pads_and_all(
    folder: Path, load: Any, sizes: tuple[int, int], key: tuple[int, int]
) -> None:
    engine = load(folder, graphs=GraphOptions(slots=(2, 8), most_tokens=2048, most=2, prewarm=(sizes,)))
    engine.prewarm()
    assert [(held.tokens, held.slots) for held in engine.framed.book.held] == [key]


@pytest.mark.parametrize(
    ("prewarm", "said"),
    [
        (((0, 1),), "there is no step of 0 tokens"),
        (((1000, 2),), "2 sequences never have 1024 tokens"),
        (((20, 9),), "there is no step of 20 tokens and 9 sequences"),
        (((16400, 8),), "there is no step of 16400 tokens"),
        (((16, 1), (32, 1), (48, 1)), "3 graphs, at most 2 are held"),
    ],
)
def test_a_list_that_cannot_be_prewarmed_stops_the_start(
    folder: Path, load: Any, prewarm: tuple[tuple[int, int], ...], said: str
) -> None:
    with pytest.raises(LoadError, match=said):
        load(folder, graphs=GraphOptions(multiple=16, slots=(2, 8), most=2, prewarm=prewarm))


@pytest.mark.parametrize("on_failure", ["eager", "fail"])
def test_a_graph_of_the_list_that_cannot_be_captured_is_eager_or_stops_the_start(
    folder: Path, load: Any, on_failure: str
) -> None:
    device = Failing()
    graphs = GraphOptions(multiple=16, slots=(2, 8), prewarm=((16, 2), (32, 2)), on_failure=on_failure)
    engine = load(folder, device, graphs=graphs)
    device.captures = CaptureError("a stream was waited for")
    if on_failure == "fail":
        with pytest.raises(LoadError, match=r"graphs\.prewarm: .*32.* could not be captured: a stream was waited for"):
            engine.prewarm()
        return
    engine.prewarm()
    failures = tuple((size, "a stream was waited for") for size in ("32x2", "16x2"))
    assert engine.graphs == GraphState(
        capture_failed=2, eager=5, pad_tokens=15, pad_sequences=1, to_warm=2, failures=failures
    )


def test_without_graphs_there_is_nothing_to_warm(folder: Path) -> None:
    engine = Engine.load(
        folder, EngineOptions(device=GRAPHS_ON_CPU, graphs=GraphOptions(mode="off", prewarm=((8, 2),)))
    )
    engine.prewarm()
    assert engine.graphs == NO_GRAPHS
    assert engine.card.device == "cpu"


@pytest.mark.parametrize(("name", "value"), [("mode", "eager"), ("on_failure", "ignore")])
def test_a_choice_about_graphs_that_is_not_known_stops_the_start(folder: Path, name: str, value: str) -> None:
    with pytest.raises(LoadError, match=rf"graphs\.{name} '{value}' is not known; known are "):
        Engine.load(folder, EngineOptions(graphs=GraphOptions(**{name: value})))


def test_slots_that_make_no_sense_stop_the_start(folder: Path, load: Any) -> None:
    with pytest.raises(LoadError, match="do not ascend"):
        load(folder, graphs=GraphOptions(slots=(8, 2)))


@EVERYWHERE
def test_graphs_are_held_up_to_a_number_and_evicted_ones_still_give_their_vectors(
    where: str, error: float, folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any
) -> None:
    engine, loose = load(folder, graphs=GraphOptions(multiple=16, slots=(8,), most=2)), plain(folder)
    for length in (5, 20, 40, 60) * 4:
        ids = texts_of([length])
        for _ in range(2):
            np.testing.assert_allclose(embed(engine, ids), embed(loose, ids), atol=error)
        assert len(engine.framed._graphs) == len(engine.framed.book.held) <= 2
    assert engine.framed.counts.evicted


def test_graphs_that_made_room_are_let_go_when_their_steps_are_over_although_the_device_is_never_idle(
    folder: Path, load: Any, texts_of: Any
) -> None:
    engine = load(folder, graphs=GraphOptions(multiple=16, slots=(8,), most=1))
    flights, leaving = [engine.step(batch_of(texts_of([3])))], list[int]()
    for length in (5, 20, 40, 60):
        for _ in range(PATIENCE + 2):
            before = engine.graphs.evicted
            flights.append(engine.step(batch_of(texts_of([length]))))
            leaving.append(len(engine.framed._leaving) - 2 * (engine.graphs.evicted - before))
            flights.pop(0).wait(30)
            assert not engine.framed._ring.idle
    # In the step that makes room (where it counts as -1), and while the step before it may be under way.
    gone = leaving.index(-1)
    assert leaving[gone : gone + 4] == [-1, 1, 0, 0]
    assert leaving.count(-1) == engine.graphs.evicted > 1


class Failing(CpuGraphDevice):
    """Fails as it is told."""

    def __init__(self) -> None:
        super().__init__(1)
        self.captures: Exception | None = None
        self.steps: Exception | None = None

    def capture(self, step: Step) -> Graph:
        if self.captures:
            raise self.captures
        return super().capture(step)

    def run(self, step: Step) -> None:
        if self.steps:
            raise self.steps
        super().run(step)


def test_a_failed_capture_leaves_the_key_eager_and_is_counted_and_told(
    folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any, caplog: pytest.LogCaptureFixture
) -> None:
    device = Failing()
    engine, loose = load(folder, device), plain(folder)
    device.captures = CaptureError("a stream was waited for")
    for _ in range(5):
        ids = texts_of([20, 9])
        np.testing.assert_allclose(embed(engine, ids), embed(loose, ids), atol=2e-5)
    counts = engine.framed.counts
    assert (counts.capture_failed, counts.captured) == (1, 0)
    assert [(key.tokens, key.slots) for key in engine.framed.book.refused] == [(32, 8)]
    assert "could not be captured: a stream was waited for" in caplog.text


def test_a_step_without_memory_is_given_back_and_its_size_is_not_tried_again(
    folder: Path, load: Any, texts_of: Any, embed: Any
) -> None:
    device = Failing()
    engine = load(folder, device)
    device.steps = torch.OutOfMemoryError("CUDA out of memory")
    with pytest.raises(TooLargeError, match="2 sequences of 29 tokens: no room in memory"):
        embed(engine, texts_of([20, 9]))
    device.steps = None
    with pytest.raises(TooLargeError, match="had no room in memory before"):
        embed(engine, texts_of([20, 10]))
    assert engine.framed.counts.out_of_memory == 1
    assert engine.graphs.crowded == (("32x8", "CUDA out of memory"),)
    assert embed(engine, texts_of([5])).shape == (1, 32)


def test_a_device_that_can_do_nothing_more_ends_the_engine(folder: Path, load: Any, texts_of: Any, embed: Any) -> None:
    device = Failing()
    engine = load(folder, device)
    device.steps = torch.AcceleratorError("an illegal memory access was encountered")
    with pytest.raises(EngineDeadError, match="cpu-graphs failed: an illegal memory access"):
        embed(engine, texts_of([20, 9]))


def test_a_step_that_fails_on_the_stream_fails_alone(folder: Path, load: Any, texts_of: Any, embed: Any) -> None:
    engine = load(folder)
    good = engine.step(batch_of(texts_of([4])))
    engine._device.run(lambda: [][1])
    bad = engine.step(batch_of(texts_of([4])))
    after = engine.step(batch_of(texts_of([4])))
    for _ in range(2):
        assert good.wait(30).array().shape == after.wait(30).array().shape == (1, 32)
        with pytest.raises(StepError, match="IndexError"):
            bad.wait(30)


@pytest.mark.parametrize(("token", "length"), [(60, 3), (-1, 3), (5, 151)])
def test_what_is_in_no_table_never_reaches_the_device(folder: Path, load: Any, token: int, length: int) -> None:
    engine = load(folder)
    before = dict(engine._device.asked)
    with pytest.raises(IndexError):
        engine.step(batch_of([np.full(length, token, np.int32)]))
    assert engine._device.asked == before


class Planning(OffsetsAttention):
    """Has to know where sequences begin before each step, and takes no text with tokens that nobody sees."""

    def __init__(self, device: CpuGraphDevice) -> None:
        super().__init__()
        self.device, self.planned, self.attended = device, list[list[int]](), list[list[int]]()

    def plan_ahead(self, starts: Tensor) -> None:
        self.planned.append(starts.tolist())

    def suits(self, ragged: Ragged) -> bool:
        return ragged.partly is None

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, ragged: Ragged, mask: Mask, scale: float) -> Tensor:
        if ragged.seen is not None:
            self.attended.append(ragged.starts.tolist())
        return super().__call__(q, k, v, ragged, mask, scale)


def test_attention_that_is_planned_is_planned_once_before_each_step_and_what_it_does_not_suit_takes_no_graph(
    folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any
) -> None:
    device = CpuGraphDevice(1)
    planning = Planning(device)
    kit = FrameKit(device.torch_device, "auto")
    kit.attention = planning
    device.kit = lambda dtype, attention: kit  # type: ignore[method-assign]
    engine, loose = load(folder, device), plain(folder)
    for _ in range(4):
        ids = texts_of([5, 4])
        np.testing.assert_allclose(embed(engine, ids), embed(loose, ids), atol=2e-5)
    layers = len(planning.attended) // len(planning.planned)
    assert planning.planned == planning.attended[::layers]
    assert planning.planned[1:] == [[0, 4, 9, *[16] * 6]] * 4
    before = engine.graphs
    batch = Batch.pack([Sequence(own, (Want(((0, 2),), FORM),), 0.0, 1.0, unseen=1) for own in texts_of([5, 4])])
    found, expected = (each.step(batch).wait(30).array() for each in (engine, loose))
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert engine.graphs == before


class Given:
    """A source of one list of batches."""

    def __init__(self, *batches: list[Sequence]) -> None:
        self.batches, self.results = list(batches), list[list[Sequence]]()

    def take(self, block: bool) -> list[Sequence] | None:
        return self.batches.pop(0) if self.batches else [] if not block else None

    def settled(self, sequences: list[Sequence]) -> None:
        self.results.append(sequences)


def run_loop(engine: Any, *batches: list[Sequence]) -> Given:
    source = Given(*batches)
    loop = EngineLoop(engine, source)
    loop.start()
    assert loop.join(30)
    assert loop.failure is None
    return source


def test_the_loop_halves_what_has_no_room_and_everybody_gets_vectors(
    folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any
) -> None:
    engine, loose = load(folder, graphs=GraphOptions(multiple=16, slots=(2, 4), most=4)), plain(folder)
    ids = texts_of([7, 3, 9, 12, 1, 5, 5, 8, 2, 6, 11])
    sequences = [Sequence.whole(own, FORM) for own in ids]
    source = run_loop(engine, sequences, [Sequence.whole(ids[0], FORM)])
    assert sorted(len(batch) for batch in source.results)[-1] <= 4
    expected = embed(loose, ids)
    for sequence, row in zip(sequences, expected, strict=True):
        assert isinstance(sequence.outcome, Embedded)
        found = np.frombuffer(sequence.outcome.outputs[0].rows, np.float32)
        np.testing.assert_allclose(found, row, atol=2e-5)


def test_one_text_without_memory_fails_and_the_next_one_does_not(folder: Path, load: Any, texts_of: Any) -> None:
    device = Failing()
    engine = load(folder, device)
    run, long, short = device.run, *([Sequence.whole(own, FORM)] for own in texts_of([40, 3]))

    def small_only(step: Any) -> None:
        if step.args[0].batch.token_ids.shape[0] > 32:
            raise torch.OutOfMemoryError("CUDA out of memory")
        run(step)

    device.run = small_only  # type: ignore[method-assign]
    run_loop(engine, long, short)
    assert isinstance(long[0].outcome, TooLargeError)
    again = [Sequence.whole(long[0].token_ids, FORM)]
    run_loop(engine, again)
    assert isinstance(again[0].outcome, TooLargeError)
    assert len(engine.graphs.crowded) == 1
    assert isinstance(short[0].outcome, Embedded)
