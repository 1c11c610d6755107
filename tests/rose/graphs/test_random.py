"""Ten thousand random batches back to back, and what a step asks of torch whatever is in its buffers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from graphkit.everywhere import EVERYWHERE
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.graphs import kit
from tulip_rose.rose.graphs.framed import Framed
from tulip_rose.rose.options import GraphOptions
from tulip_rose.sequence import Sequence

BATCHES, POOL, KEPT = 10_000, 150, 6
GRAPHS = GraphOptions(multiple=16, slots=(2, 4, 8), most_tokens=256, most=KEPT)


@EVERYWHERE
@pytest.mark.timeout(900)
def test_ten_thousand_random_batches_with_poisoned_pads_equal_steps_without_graphs(
    where: str, error: float, folders: Callable[[str], Path], load: Any, plain: Any, texts_of: Any, embed: Any
) -> None:
    framed, loose, rng = (
        load(folders("bert of a layer"), graphs=GRAPHS),
        plain(folders("bert of a layer")),
        np.random.default_rng(7),
    )
    ids = texts_of(rng.integers(1, 30, POOL).tolist())
    expected = embed(loose, ids)
    with torch.inference_mode():
        framed._model._embedding._words[0] = float("nan")
    flights: list[tuple[Any, Any]] = []
    for _ in range(BATCHES):
        chosen = rng.integers(0, POOL, rng.integers(1, 5))
        batch = Batch.pack([Sequence.whole(ids[at], framed.card.form()) for at in chosen])
        flights.append((framed.step(batch), chosen))
        # As the engine's loop does it, and at times slower.
        while len(flights) > rng.integers(0, 3):
            flight, chosen = flights.pop(0)
            # Not a number is not below any.
            assert np.abs(flight.wait(30).array() - expected[chosen]).max() <= error
    counts = framed.framed.counts
    assert counts.eager + counts.replayed >= BATCHES
    assert min(counts.eager, counts.captured, counts.evicted) > 20
    assert counts.replayed > BATCHES / 4
    assert framed.framed.ring_waits == 0


class Trace(TorchDispatchMode):
    """Which operations ran, on which shapes and with which other arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.ran: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.ran.append(f"{function}{shown((args, kwargs or {}))}")
        return function(*args, **(kwargs or {}))


def shown(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"{value.dtype}{tuple(value.shape)}"
    if isinstance(value, dict):
        return shown(tuple(value.items()))
    return f"({','.join(map(shown, value))})" if isinstance(value, list | tuple) else repr(value)


@contextmanager
def opaque() -> Iterator[None]:
    """What reads the tensors of lengths by itself, as a kernel does, counts as one operation."""
    with pytest.MonkeyPatch.context() as patched:
        for layer in (kit.OffsetsAttention, kit.BoundsHead):
            call = layer.__call__

            def alone(*args: Any, call: Any = call) -> Any:
                with _disable_current_modes():
                    return call(*args)

            patched.setattr(layer, "__call__", alone)
        yield


@pytest.mark.parametrize("family", ["bert", "xlm-roberta", "mpnet", "modernbert", "nomic", "qwen3", "gemma"])
def test_a_step_asks_the_same_of_torch_whatever_is_in_its_buffers(
    folders: Callable[[str], Path], load: Any, texts_of: Any, monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    engine = load(folders(family), graphs=GRAPHS)
    traces, step = list[list[str]](), Framed._step

    def traced(self: Framed, frame: Any) -> None:
        with Trace() as trace:
            step(self, frame)
        traces.append(trace.ran)

    monkeypatch.setattr(Framed, "_step", traced)
    with opaque():
        for lengths in ([5, 9, 3], [5, 9, 3], [20, 7], [1, 1, 1, 29], [3, 9, 9]):
            engine.step(Batch.pack([Sequence.whole(ids, engine.card.form()) for ids in texts_of(lengths)])).wait(30)
    assert engine.framed.counts.captured == 1
    assert len(traces) == 5
    assert len(traces[0]) > 20
    assert all(trace == traces[0] for trace in traces)
    # Neither a number that is read back nor a shape that depends on values: a GPU would have to be waited for.
    assert not [ran for ran in traces[0] if any(word in ran for word in ("_local_scalar_dense", "nonzero", "unique"))]
