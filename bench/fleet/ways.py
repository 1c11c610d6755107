"""Ways to give each gateway a part of the engines, and what is compared of them. Pure, and the same for a seed."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

from ivy.client.subset import Nearness, subset

Held = dict[str, set[str]]
"""Engines by gateway."""
Way = Callable[[Sequence[str], Sequence[str], int], Held]
"""Of gateways, engines, and how many engines each gateway is to have."""


def alone(gateways: Sequence[str], engines: Sequence[str], size: int) -> Held:
    """Each gateway chooses by its own name: rendezvous hashing (Thaler and Ravishankar, 1998), the other way round."""
    return {each: set(subset(Nearness(each, ()), engines, size, _never)) for each in gateways}


def by_rank(gateways: Sequence[str], engines: Sequence[str], size: int) -> Held:
    """Deterministic subsetting by a client's number (Site Reliability Engineering, chapter 20)."""
    parts, held = max(len(engines) // size, 1), {}
    for number, gateway in enumerate(sorted(gateways)):
        shuffled = sorted(engines)
        Random(number // parts).shuffle(shuffled)
        first = number % parts * size
        held[gateway] = set(shuffled[first : first + size])
    return held


def arcs(gateways: Sequence[str], engines: Sequence[str], size: int) -> Held:
    """Engines on a ring by their hashes, gateways on it at equal distances: each takes those that follow."""
    ring = sorted(engines, key=lambda each: hashlib.blake2b(each.encode(), digest_size=8).digest())
    held = {}
    for number, gateway in enumerate(sorted(gateways)):
        first = number * len(ring) // len(gateways)
        held[gateway] = {ring[(first + step) % len(ring)] for step in range(size)}
    return held


def orders(gateways: Sequence[str], engines: Sequence[str], size: int) -> Held:
    """What gateways do: each engine draws an order of gateways."""
    return {each: set(subset(Nearness(each, gateways), engines, size, _never)) for each in gateways}


WAYS: dict[str, Way] = {
    "each by its own name": alone,
    "by its number": by_rank,
    "arcs of a ring": arcs,
    "orders of engines": orders,
}


@dataclass(frozen=True)
class Judged:
    """One way.

    Attributes:
        fewest: gateways that an engine has.
        most: the same.
        heaviest: load of the busiest engine, as a multiple of the mean, where each gateway spreads its share evenly.
        engine_goes: connections that each gateway opens when one engine goes; as few as what it held of it would do.
        gateway_goes: connections that each other gateway opens when one goes.
    """

    fewest: int
    most: int
    heaviest: float
    engine_goes: float
    gateway_goes: float


def judged(way: Way, gateways: int, engines: int, size: int, seed: int) -> Judged:
    """Judge a way on names drawn from a seed."""
    random = Random(seed)
    named = [f"gateway-{random.getrandbits(40):010x}" for _ in range(gateways)]
    every = [f"engine-{random.getrandbits(40):010x}" for _ in range(engines)]
    held = way(named, every, size)
    count, load = Counter[str](), Counter[str]()
    for chosen in held.values():
        for engine in chosen:
            count[engine] += 1
            load[engine] += 1 / len(chosen) / gateways  # type: ignore[assignment]
    gone = random.choice(named)
    others = [each for each in named if each != gone]
    return Judged(
        min(count[each] for each in every),
        max(count.values()),
        max(load.values()) * engines,
        _opened(held, way(named, every[1:], size)),
        _opened(held, way(others, every, size)),
    )


def _opened(before: Held, after: Held) -> float:
    return sum(len(after[each] - before[each]) for each in after) / len(after)


def _never(engine: str) -> bool:
    return False
