"""Graphs that make room for others: up to how many are held, and when the others are let go."""

from pathlib import Path
from typing import Any

import numpy as np
from graphkit.batches import batch_of
from graphkit.everywhere import EVERYWHERE
from tulip_rose.rose.graphs.book import PATIENCE
from tulip_rose.rose.options import GraphOptions


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
