"""The loop over an engine with graphs: batches that have no room are halved."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from graphkit.batches import FORM
from graphkit.failing import Failing
from tulip_rose.rose.errors import TooLargeError
from tulip_rose.rose.loop import EngineLoop
from tulip_rose.rose.options import GraphOptions
from tulip_rose.sequence import Embedded, Sequence


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
        found = np.frombuffer(sequence.outputs[0].rows, np.float32)
        np.testing.assert_allclose(found, row, atol=2e-5)


def test_one_text_without_memory_fails_and_the_next_one_does_not(folder: Path, load: Any, texts_of: Any) -> None:
    device = Failing()
    engine = load(folder, device)
    run, long, short = device.run, *([Sequence.whole(own, FORM)] for own in texts_of([40, 3]))

    def small_only(step: Any) -> None:
        if step.args[0].inputs.token_ids.shape[0] > 32:
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
