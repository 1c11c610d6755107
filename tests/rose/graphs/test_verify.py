"""What is asked of captured graphs before an engine is ready, and what comes of one that makes other vectors."""

from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.graphs.device import CaptureError, Graph, Step
from tulip_rose.rose.graphs.key import Buckets, Key
from tulip_rose.rose.graphs.verify import apart, texts
from tulip_rose.rose.lazy import Part
from tulip_rose.rose.options import GraphOptions
from tulip_rose.rose.sparse.terms import Terms
from tulip_rose.sequence import OutputForm, OutputKind

BUCKETS = Buckets(16, (2, 8, 32), 512)
SIZES = ((16, 2), (48, 8), (512, 32))


def graphs(**more: Any) -> GraphOptions:
    return GraphOptions(multiple=16, slots=(2, 8, 32), most_tokens=512, most=8, prewarm=SIZES, **more)


class Altered(CpuGraphDevice):
    """Replays of one of its captures, counted from 1, move every value of the rows."""

    def __init__(self, which: int, by: float) -> None:
        super().__init__(1)
        self._which, self._by, self._captures = which, by, 0

    def capture(self, step: Step) -> Graph:
        self._captures += 1
        return super().capture(self._wrong(step) if self._captures == self._which else step)

    def _wrong(self, step: Step) -> Step:
        frame = step.args[0]

        def altered() -> None:
            step()
            frame.rows[1].rows.add_(self._by)

        return altered


class Failing(CpuGraphDevice):
    """Its second capture fails."""

    captures = 0

    def capture(self, step: Step) -> Graph:
        self.captures += 1
        if self.captures == 2:
            raise CaptureError("an operation that waits")
        return super().capture(step)


@pytest.mark.parametrize("sizes", [(16, 2), (48, 8), (512, 32), (256, 2), (512, 8)])
@pytest.mark.parametrize("kind", [OutputKind.DENSE, OutputKind.TOKENS])
def test_texts_fill_their_key_differ_in_length_and_are_the_same_at_each_call(
    sizes: tuple[int, int], kind: OutputKind
) -> None:
    key, form = Key(*sizes), OutputForm(32, kind=kind)
    batch = texts(key, BUCKETS, 150, form, 60)
    assert BUCKETS.fit(batch.tokens, len(batch.places)) == sizes
    assert batch.longest <= 150
    assert len(np.unique(np.diff(batch.starts))) > 1
    assert int(batch.token_ids.max()) < 60
    assert np.array_equal(batch.token_ids, texts(key, BUCKETS, 150, form, 60).token_ids)


def test_how_far_rows_are_apart_is_told_of_their_length_or_of_one() -> None:
    finite = np.array([True, True])
    one = Part(np.array([[3.0, 4.0], [0.1, 0.0]], np.float32), finite)
    other = Part(np.array([[3.0, 4.5], [0.2, 0.0]], np.float32), finite)
    assert apart(one, one) == 0
    assert apart(one, other) == pytest.approx(0.1)
    assert apart(one, Part(other.rows, np.array([True, False]))) == inf


def test_rows_of_terms_are_compared_by_term() -> None:
    def part(*rows: list[float]) -> Part:
        return Terms.of_dense(np.asarray(rows, np.float32)).packed(np.ones(len(rows), np.bool_))

    one = part([0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0])
    assert apart(one, one) == 0
    assert apart(one, part([0.0, 2.0, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0])) == pytest.approx(0.25)
    assert apart(one, part([0.0, 2.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0])) == pytest.approx(0.5)


def test_graphs_that_are_right_pass_and_each_is_replayed_once_more(folder: Path, load: Any) -> None:
    engine = load(folder, graphs=graphs())
    engine.prewarm()
    before = engine.graphs
    engine.verify()
    after = engine.graphs
    assert (after.warmed, after.to_warm, after.warming) == (3, 3, "")
    assert (after.replayed - before.replayed, after.eager - before.eager) == (3, 3)


@pytest.mark.parametrize(("which", "size"), [(1, "512x32"), (2, "48x8"), (3, "16x2")])
def test_a_graph_that_makes_other_vectors_stops_the_start_with_its_size_and_how_far(
    folder: Path, load: Any, which: int, size: str
) -> None:
    engine = load(folder, Altered(which, 0.5), graphs=graphs())
    engine.prewarm()
    with pytest.raises(LoadError, match=rf"graphs\.verify: vectors of the graph of {size} are \d+(\.\d+)? of their"):
        engine.verify()


def test_a_difference_of_rounding_passes(folder: Path, load: Any) -> None:
    engine = load(folder, Altered(2, 1e-6), graphs=graphs())
    engine.prewarm()
    engine.verify()


def test_a_size_that_cannot_be_captured_is_told_of_with_the_reason_and_not_compared(folder: Path, load: Any) -> None:
    engine = load(folder, Failing(1), graphs=graphs())
    engine.prewarm()
    engine.verify()
    state = engine.graphs
    assert (state.warmed, state.to_warm, state.capture_failed) == (2, 3, 1)
    assert state.failures == (("48x8", "an operation that waits"),)


def test_where_a_failure_is_to_stop_the_start_it_does_and_says_why(folder: Path, load: Any) -> None:
    engine = load(folder, Failing(1), graphs=graphs(on_failure="fail"))
    with pytest.raises(LoadError, match="48x8 could not be captured: an operation that waits"):
        engine.prewarm()
