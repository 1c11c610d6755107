"""What the host does for a step, on a device that does nothing: `python -m bench.host_time`.

The engine's own loop runs on this thread, so that a profile sees all of it: it packs sequences, chooses a graph, lays
the batch out, replays, and gives each sequence the result, of which whoever answers cuts its rows. Launching a real
graph and real copies cost some microseconds more, which only a GPU can tell. What counts is the time that the processor
gives the thread, since nothing is waited for; others on the machine still make its caches and its clock slower.
"""

import argparse
import cProfile
import io
import pstats
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from transformers import BertConfig, BertModel
from tulip_rose.rose import engine as engine_module
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.loop import EngineLoop
from tulip_rose.rose.options import GRAPHS_ON_CPU, EngineOptions, GraphOptions
from tulip_rose.sequence import Embedded, OutputForm, Sequence
from tulip_rose.tulip.metrics import Metrics
from tulip_rose.tulip.queue import Queue
from tulip_rose.tulip.scheduler import Scheduler

from bench.null_device import NullDevice
from bench.record import Spread, surroundings, table, write

_SIZES = (1, 2, 8, 16, 32, 64)
_AIMS_US = {1: 60.0, 64: 150.0}
_DIMENSIONS, _VOCABULARY, _LONGEST, _SEED = 384, 1000, 128, 7
_CONFIG: dict[str, Any] = {
    "vocab_size": _VOCABULARY,
    "hidden_size": _DIMENSIONS,
    "num_hidden_layers": 1,
    "num_attention_heads": 6,
    "intermediate_size": 64,
}
_SHOWN = 14
"""Functions of a profile."""


class Given:
    """A source of batches that are there already."""

    def __init__(self, batches: list[list[Sequence]]) -> None:
        self._batches = batches[::-1]

    def take(self, block: bool) -> list[Sequence] | None:
        """See `Source`."""
        if self._batches:
            return self._batches.pop()
        return None if block else []

    def settled(self, sequences: list[Sequence]) -> None:
        """See `Source`."""


def main() -> None:
    """Measure, print the tables and write them to `bench/results`."""
    options = _options()
    around = surroundings(("torch", "numpy"))
    torch.set_num_threads(1)
    rounds = options.rounds
    with TemporaryDirectory() as folder:
        engine = _engine(Path(folder))
        found = {size: _times(engine, size, options.steps, rounds) for size in _SIZES}
        profiles = {size: _profile(engine, size, options.steps) for size in _AIMS_US}
    sections = [("Time", _table(found, options.steps, rounds))]
    sections += [(f"Where it goes: {size} sequences a step", f"```\n{text}```") for size, text in profiles.items()]
    path = write("host-time", "Host time of a step, null device", around, sections, found)
    print(path.read_text(encoding="utf-8"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100, help="Steps of a round.")
    parser.add_argument("--rounds", type=int, default=60, help="Rounds of each number of sequences.")
    return parser.parse_args()


def _engine(folder: Path) -> Engine:
    """A model as small as can be with rows as wide as those of MiniLM, its graphs captured."""
    BertModel(BertConfig(**_CONFIG)).save_pretrained(folder)
    device = NullDevice()
    options = EngineOptions(device=GRAPHS_ON_CPU, pooling="mean", graphs=GraphOptions(most=64))
    with patch.object(engine_module, "open_device", lambda *_: device):
        engine = Engine.load(folder, options)
    device.off = True
    return engine


def _sequences(size: int, form: Callable[[], OutputForm]) -> list[Sequence]:
    """Texts of 8 to 128 tokens. Each has a form of its own, equal to all others, as calls have that come apart."""
    rng = np.random.default_rng((_SEED, size))
    return [
        Sequence.whole(rng.integers(0, _VOCABULARY, rng.integers(8, _LONGEST)).astype(np.int32), form())
        for _ in range(size)
    ]


def _steps(engine: Engine, size: int, steps: int) -> list[list[Sequence]]:
    return [_sequences(size, engine.card.form) for _ in range(steps)]


def _times(engine: Engine, size: int, steps: int, rounds: int) -> dict[str, list[float]]:
    """Microseconds a step, one value a round: of the engine alone, and with Tulip's queue and metrics around it."""
    for _ in range(3):
        _alone(engine, _steps(engine, size, steps))
    alone, queued = [], []
    for _ in range(rounds):
        alone.append(_alone(engine, _steps(engine, size, steps)))
        queued.append(_queued(engine, _steps(engine, size, steps)))
    return {"engine": alone, "engine and queue": queued}


def _alone(engine: Engine, batches: list[list[Sequence]]) -> float:
    loop = EngineLoop(engine, Given(batches))
    began = time.thread_time()
    loop.run()
    took = time.thread_time() - began
    assert loop.failure is None
    assert all(isinstance(sequence.outcome, Embedded) for batch in batches for sequence in batch)
    return 1e6 * took / len(batches)


def _queued(engine: Engine, batches: list[list[Sequence]]) -> float:
    """Each batch is all that waits when it is taken; submitting it is left out."""
    took = 0.0
    queue = Queue(Scheduler(1 << 20, 1 << 30), lambda sequences: None, Metrics())
    for batch in batches:
        queue.submit(batch)
        loop = EngineLoop(engine, Once(queue))
        began = time.thread_time()
        loop.run()
        took += time.thread_time() - began
    return 1e6 * took / len(batches)


class Once:
    """A queue that is closed when it is empty."""

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self.settled = queue.settled

    def take(self, block: bool) -> list[Sequence] | None:
        """See `Source`."""
        return self._queue.take(False) or (None if block else [])


def _profile(engine: Engine, size: int, steps: int) -> str:
    batches, profile, out = _steps(engine, size, steps), cProfile.Profile(), io.StringIO()
    loop = EngineLoop(engine, Given(batches))
    profile.enable()
    loop.run()
    profile.disable()
    pstats.Stats(profile, stream=out).strip_dirs().sort_stats("tottime").print_stats(_SHOWN)
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines() if line.strip())


def _table(found: dict[int, dict[str, list[float]]], steps: int, rounds: int) -> str:
    rows = [
        [
            str(size),
            *(cell for times in kinds.values() for cell in (f"{min(times):.1f}", Spread.of(times).shown())),
            _aim(size, kinds["engine"]),
        ]
        for size, kinds in found.items()
    ]
    note = (
        f"Microseconds of the processor a step: the fastest of {rounds} rounds of {steps} steps, their median and the "
        "range of the middle half; one thread. Where others load the machine, as the load above tells, the fastest "
        "round is nearest to what a step takes. Texts of 8 to 127 tokens, a new batch each step, rows of 384 float32. "
        "The queue is Tulip's scheduler with its metrics."
    )
    return (
        note
        + "\n\n"
        + table(["sequences", "engine, fastest", "median", "with queue, fastest", "median", "at most"], rows)
    )


def _aim(size: int, times: list[float]) -> str:
    """What was asked, and whether the median holds it, or the fastest round alone."""
    aim = _AIMS_US.get(size)
    if aim is None:
        return ""
    held = "held" if median(times) <= aim else "held by the fastest" if min(times) <= aim else "missed"
    return f"{aim:.0f}, {held}"


if __name__ == "__main__":
    main()
