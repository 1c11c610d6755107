"""How steps over static buffers use their device: what they ask of it, and when."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphkit.batches import batch_of
from graphkit.everywhere import EVERYWHERE
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.graphs import slot as slot_module
from tulip_rose.sequence import OutputForm, Sequence


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


@pytest.mark.parametrize(("token", "length"), [(60, 3), (-1, 3), (5, 151)])
@pytest.mark.parametrize("others", [[], [2, 7]], ids=str)
def test_what_is_in_no_table_never_reaches_the_device(
    folder: Path, load: Any, texts_of: Any, token: int, length: int, others: list[int]
) -> None:
    engine = load(folder)
    before = dict(engine._device.asked)
    with pytest.raises(IndexError):
        engine.step(batch_of([*texts_of(others), np.full(length, token, np.int32)]))
    assert engine._device.asked == before


def typed(highest: int) -> Batch:
    """A text without types beside one whose last token has that type."""
    types = np.array([0, 0, highest], np.uint8)
    first, last = (Sequence.whole(np.array(ids, np.int32), OutputForm(32)) for ids in ([5, 6], [7, 8, 9]))
    return Batch.pack([first, replace(last, token_types=types)])


@pytest.mark.parametrize("highest", [2, 255])
def test_a_type_in_no_table_never_reaches_the_device(folder: Path, load: Any, highest: int) -> None:
    engine = load(folder)
    before = dict(engine._device.asked)
    with pytest.raises(IndexError, match=f"type {highest} is none of the 2 of the model"):
        engine.step(typed(highest))
    assert engine._device.asked == before
    assert engine.step(typed(1)).wait(30).array().shape == (2, 32)


def test_a_model_of_one_type_takes_any(folders: Callable[[str], Path], load: Any) -> None:
    engine = load(folders("xlm-roberta"))
    np.testing.assert_array_equal(engine.step(typed(9)).wait(30).array(), engine.step(typed(0)).wait(30).array())
