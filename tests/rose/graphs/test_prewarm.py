"""Graphs that are captured before the first batch, and options that stop the start."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from graphkit.batches import batch_of
from graphkit.everywhere import EVERYWHERE
from graphkit.failing import Failing
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.graphs.device import CaptureError
from tulip_rose.rose.graphs.state import NO_GRAPHS, GraphState
from tulip_rose.rose.options import GRAPHS_ON_CPU, EngineOptions, GraphOptions

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
