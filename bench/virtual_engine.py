"""An engine in virtual time: the real scheduler, padding law and book of graphs, on a device that is two formulas.

Nothing waits: a simulated minute takes seconds, and one seed gives one result. Never knows where lengths come from.
"""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from tulip_rose.rose.graphs.book import Book, Run
from tulip_rose.rose.graphs.key import Buckets
from tulip_rose.sequence import OutputForm, Sequence
from tulip_rose.tulip.scheduler import Scheduler

ROWS_PER_MS = 550
"""Of large steps."""
_FORM = OutputForm(1024)
_IDS = np.zeros(512, dtype=np.int32)
_IN_FLIGHT = 2

Key = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Costs:
    """Milliseconds of a device. Those here are what is aimed at for Qwen3-0.6B on one H200; nothing is measured."""

    by_rows: tuple[tuple[int, float], ...] = ((64, 0.5), (128, 0.6), (512, 0.95), (1024, 1.86))
    """Of a step of so many rows; straight lines between, and beyond at `ROWS_PER_MS`."""
    slot_rows: float = 0.25
    """Rows that a slot costs as much as."""
    eager_ms: float = 3.0
    """Host time of a step without a graph: some 350 kernels, launched one by one."""
    replay_ms: float = 0.1
    """Host time of a step with one."""
    capture_ms: float = 50.0
    """Host time of a capture; the step itself follows."""

    def device_ms(self, rows: int, slots: int) -> float:
        """Of a step."""
        weighed = rows + self.slot_rows * slots
        known, values = zip(*self.by_rows, strict=True)
        beyond = max(0.0, weighed - known[-1]) / ROWS_PER_MS
        return float(np.interp(weighed, known, values) + beyond)


@dataclass(frozen=True, slots=True)
class Scheme:
    """What graphs there are."""

    name: str
    buckets: Buckets
    held: int
    """Graphs at once."""
    prewarm: tuple[Key, ...] = ()


@dataclass(slots=True)
class Seen:
    """What a run showed."""

    batches: Counter[tuple[int, int]] = field(default_factory=Counter)
    """By sequences and tokens."""
    keys: set[Key] = field(default_factory=set)
    runs: Counter[Run] = field(default_factory=Counter)
    tokens: int = 0
    rows: int = 0
    sequences: int = 0
    slots: int = 0
    waits: list[tuple[float, float]] = field(default_factory=list)
    """Arrival of each call, and milliseconds until its last text was embedded."""

    def latency_ms(self, percent: float, begin_ms: float, end_ms: float) -> float:
        """Of the calls that arrived within that time."""
        return float(np.percentile([wait for at, wait in self.waits if begin_ms <= at < end_ms], percent))


class VirtualEngine:
    """The loop of `rose.loop`, with a clock that jumps: one thread launches, two batches are in flight at most."""

    def __init__(self, scheme: Scheme, costs: Costs) -> None:
        self.seen = Seen()
        self._scheme, self._costs = scheme, costs
        self._book: Book[Key] = Book(scheme.held)
        for key in scheme.prewarm:
            self._book.captured(key)
        self._scheduler = Scheduler(scheme.buckets.most_tokens, 1 << 40)
        self._now = self._device_free = 0.0
        self._flights: deque[tuple[float, list[Sequence]]] = deque()
        self._open: dict[Sequence, list[float]] = {}

    def run(self, calls: Iterable[tuple[float, list[int]]]) -> Seen:
        """Serve all calls: each its arrival in milliseconds, ascending, and the tokens of its texts."""
        coming = deque(calls)
        while coming or len(self._scheduler) or self._flights:
            self._arrive(coming)
            batch = self._scheduler.take(self._now).batch
            if batch:
                self._launch(batch)
            if self._flights and (not batch or len(self._flights) == _IN_FLIGHT or self._flights[0][0] <= self._now):
                self._settle()
            elif not batch and coming:
                self._now = max(self._now, coming[0][0])
        return self.seen

    def _arrive(self, coming: deque[tuple[float, list[int]]]) -> None:
        while coming and coming[0][0] <= self._now:
            at, lengths = coming.popleft()
            sequences = [Sequence.whole(_IDS[:length], _FORM, arrival=at) for length in lengths]
            call = [at, float(len(sequences))]
            self._open.update((sequence, call) for sequence in sequences)
            self._scheduler.submit(sequences)

    def _launch(self, batch: list[Sequence]) -> None:
        tokens = sum(sequence.tokens for sequence in batch)
        key = self._scheme.buckets.fit(tokens, len(batch))
        # One eager step stands for the halves that the engine makes of a batch that no size holds.
        run = Run.EAGER if key is None else self._decide(key)
        rows, slots = key or (self._scheme.buckets.rows(tokens), len(batch))
        device_ms = self._costs.device_ms(rows, slots)
        self._note(batch, tokens, (rows, slots), run)
        begun = self._now
        if run is Run.EAGER:
            self._now += self._costs.eager_ms
            # Kernels run while later ones are launched: the step ends with the slower of both.
            self._device_free = max(self._now, max(begun, self._device_free) + device_ms)
        else:
            self._now += self._costs.replay_ms + (self._costs.capture_ms if run is Run.CAPTURE else 0)
            self._device_free = max(self._now, self._device_free) + device_ms
        self._flights.append((self._device_free, batch))

    def _decide(self, key: Key) -> Run:
        run = self._book.decide(key, idle=not self._flights).run
        if run is Run.CAPTURE:
            self._book.captured(key)
        return run

    def _note(self, batch: list[Sequence], tokens: int, key: Key, run: Run) -> None:
        seen = self.seen
        seen.batches[len(batch), tokens] += 1
        seen.keys.add(key)
        seen.runs[run] += 1
        seen.tokens, seen.rows = seen.tokens + tokens, seen.rows + key[0]
        seen.sequences, seen.slots = seen.sequences + len(batch), seen.slots + key[1]

    def _settle(self) -> None:
        done, batch = self._flights.popleft()
        self._now = max(self._now, done)
        self._scheduler.settle(batch)
        for sequence in batch:
            call = self._open.pop(sequence)
            call[1] -= 1
            if not call[1]:
                self.seen.waits.append((call[0], self._now - call[0]))
