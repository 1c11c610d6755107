"""How fast: a text at a time, and as many as go. Contenders take turns in an order that the seed decides."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from bench.gpu.contenders import Contender, Field
from bench.gpu.failures import Failures
from bench.gpu.models import SEED, Ids, made_up
from bench.gpu.scale import Clock, Scale
from bench.lengths import recorded

Times = dict[str, dict[str, list[float]]]
"""By contender and workload: milliseconds of each call, or tokens a second of each round; none where it raised."""
RESERVE_S = 5.0
_WARM = 3
"""A graph is there after the second call of a size."""
_MIXED = "reference of Python, paragraphs"

Turn = Callable[[Contender], list[float]]


@dataclass(frozen=True)
class Workload:
    """What contenders take turns at.

    Attributes:
        name: in tables.
        turn: does it once, and says what that measured.
        sizes: a batch of every size that it has, to warm up.
    """

    name: str
    turn: Turn
    sizes: Sequence[Sequence[Ids]]

    def warm(self, contender: Contender) -> list[float]:
        """Meet every size; measures nothing."""
        for texts in self.sizes:
            for _ in range(_WARM):
                contender.embed(texts)
        return []


def latency(field: Field, scale: Scale, clock: Clock, vocabulary: int, failures: Failures) -> Times:
    """Milliseconds from ids on the host to a vector there, of one text of each length."""
    workloads = [_alone(length, scale, vocabulary) for length in scale.lengths]
    return race(field, scale, clock, "latency", workloads, failures)


def _alone(length: int, scale: Scale, vocabulary: int) -> Workload:
    texts = made_up([length] * scale.calls_of(length), vocabulary, SEED + length)
    return Workload(f"{length} tokens", lambda contender: [_ms(contender, text) for text in texts], [texts[:1]])


def _ms(contender: Contender, text: Ids) -> float:
    began = time.perf_counter()
    contender.embed([text])
    return 1000 * (time.perf_counter() - began)


def throughput(field: Field, scale: Scale, clock: Clock, vocabulary: int, failures: Failures) -> Times:
    """Tokens a second, pads not counted: of texts of one length, and of recorded lengths."""
    even = made_up([scale.text_tokens] * (scale.batch_tokens // scale.text_tokens), vocabulary, SEED)
    mixed = list(_mixed(scale, vocabulary))
    workloads = [
        _many(f"{scale.text_tokens} tokens", [even] * scale.batches, [even]),
        _many("mixed lengths", mixed, mixed),
    ]
    return race(field, scale, clock, "throughput", workloads, failures)


def _many(name: str, batches: Sequence[Sequence[Ids]], sizes: Sequence[Sequence[Ids]]) -> Workload:
    tokens = sum(text.size for batch in batches for text in batch)
    return Workload(name, lambda contender: [tokens / _seconds(contender, batches)], sizes)


def _seconds(contender: Contender, batches: Sequence[Sequence[Ids]]) -> float:
    began = time.perf_counter()
    contender.stream(batches)
    return time.perf_counter() - began


def _mixed(scale: Scale, vocabulary: int) -> Iterator[list[Ids]]:
    """Batches of texts as long as paragraphs of prose are."""
    counts = recorded()[_MIXED]
    random = Random(SEED)
    for number in range(scale.batches):
        lengths: list[int] = []
        while True:
            [length] = random.choices(list(counts), list(counts.values()))
            if sum(lengths) + length > scale.batch_tokens:
                break
            lengths.append(length)
        yield made_up(lengths, vocabulary, SEED + number)


def race(
    field: Field, scale: Scale, clock: Clock, what: str, workloads: Sequence[Workload], failures: Failures
) -> Times:
    """Warm up every size, then give each workload to each contender once a round, unless it has raised there."""
    contenders, random = field.all, Random(SEED)
    found: Times = {each.name: {workload.name: [] for workload in workloads} for each in contenders}

    def attempt(workload: Workload, work: Turn, contender: Contender) -> list[float] | None:
        return failures.attempt(f"{what}, {workload.name}, {contender.name}", partial(work, contender))

    able = [[each for each in contenders if attempt(own, own.warm, each) is not None] for own in workloads]
    for _ in clock.rounds(what, scale.rounds, RESERVE_S):
        for workload, left in zip(workloads, able, strict=True):
            for contender in random.sample(left, len(left)):
                took = attempt(workload, workload.turn, contender)
                if took is None:
                    left.remove(contender)
                else:
                    found[contender.name][workload.name] += took
    return found
