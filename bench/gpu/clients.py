"""Clients that each wait for one text before they ask for the next: the engine's own loop and scheduler, in process."""

import time
from dataclasses import dataclass, field

import numpy as np
from tulip_rose.rose.loop import EngineLoop
from tulip_rose.sequence import Embedded, OutputForm, Sequence
from tulip_rose.tulip.scheduler import Scheduler

from bench.gpu.contenders import Rose
from bench.gpu.models import SEED, Ids, made_up
from bench.gpu.scale import Scale

_DEADLINE_S = 120.0


@dataclass
class Clients:
    """A `rose.loop.Source`: as many texts as there are clients are under way, until all have been asked for.

    Both calls come from the engine's thread, so that nothing here waits for another thread.
    """

    texts: list[Ids]
    form: OutputForm
    scheduler: Scheduler
    latencies: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    batches: int = 0

    def ask(self, count: int) -> None:
        """Let so many clients ask for their next text."""
        now = time.monotonic()
        asked = [Sequence.whole(self.texts.pop(), self.form, arrival=now) for _ in range(min(count, len(self.texts)))]
        self.scheduler.submit(asked)

    def take(self, block: bool) -> list[Sequence] | None:
        """See `Source`."""
        batch = self.scheduler.take(time.monotonic()).batch
        self.batches += bool(batch)
        return None if block and not batch else batch

    def settled(self, sequences: list[Sequence]) -> None:
        """See `Source`."""
        now = time.monotonic()
        self.scheduler.settle(sequences)
        for sequence in sequences:
            if isinstance(sequence.outcome, Embedded):
                self.latencies.append(1000 * (now - sequence.arrival))
            else:
                self.failures.append(str(sequence.outcome))
        self.ask(len(sequences))


@dataclass(frozen=True)
class Served:
    """What clients saw.

    Attributes:
        name: of the contender.
        clients: at once.
        texts_per_s: of all of them.
        middle_ms: the median text, from its asking to its vector.
        p99_ms: one in a hundred took longer.
        texts_per_batch: in the middle.
    """

    name: str
    clients: int
    texts_per_s: float
    middle_ms: float
    p99_ms: float
    texts_per_batch: float


def serve(rose: Rose, clients: int, scale: Scale, vocabulary: int) -> Served:
    """Serve as many texts as the scale says; twice, the first time to warm up.

    Raises:
        RuntimeError: a text failed, or the engine got stuck.
    """
    _run(rose, clients, scale, vocabulary)
    return _run(rose, clients, scale, vocabulary)


def _run(rose: Rose, clients: int, scale: Scale, vocabulary: int) -> Served:
    count = max(clients, scale.texts // (1 if clients > 1 else 8))
    texts = made_up([scale.client_tokens] * count, vocabulary, SEED)
    source = Clients(texts, rose.engine.card.form(), Scheduler(scale.batch_tokens, 1 << 30))
    source.ask(clients)
    loop = EngineLoop(rose.engine, source)
    began = time.monotonic()
    loop.start()
    if not loop.join(_DEADLINE_S) or loop.failure or source.failures:
        raise RuntimeError(f"{rose.name}, {clients} clients: {loop.failure or source.failures[:1] or 'stuck'}")
    seconds = time.monotonic() - began
    middle, p99 = np.percentile(source.latencies, (50, 99))
    return Served(rose.name, clients, count / seconds, float(middle), float(p99), count / source.batches)
