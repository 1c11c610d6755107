"""Which engines a gateway holds connections to, where there are too many of them for all. Pure; knows no network.

Each engine draws an order of all gateways, and a gateway takes the engines in whose orders it stands first. So an
engine that comes or goes moves nothing but itself, and all engines have nearly as many gateways as one another, which
no gateway could see to that chose without knowing of the others. docs/decisions/0042 has the numbers.
"""

import hashlib
import math
from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

COVER = 2
"""Gateways of an engine, at least, on average: one may go. Few gateways take more engines than their bound for it."""

Place = tuple[int, int]
"""How many gateways stand before one in an engine's order, and what decides between two engines of equal ones."""


class Nearness:
    """One gateway in the orders of engines."""

    def __init__(self, gateway: str, peers: Collection[str]) -> None:
        """`peers` are all gateways by name; without any nothing is known of others, and it chooses for itself."""
        self._own = np.uint64(_number(gateway))
        self._others = [np.uint64(_number(each)) for each in {*peers} - {gateway}]
        self._gateways = len(self._others) + 1 if peers else 0
        self._places: dict[str, Place] = {}

    def order(self, engines: Collection[str]) -> list[str]:
        """Engines, those first in whose orders this gateway comes first."""
        new = [each for each in engines if each not in self._places]
        known = self._places | dict(zip(new, self._drawn(new), strict=True))
        self._places = {each: known[each] for each in engines}
        return sorted(self._places, key=self._places.__getitem__)

    def is_first(self, engine: str) -> bool:
        """Whether no other gateway stands before this one: whoever does is the one that must take the engine."""
        return bool(self._gateways) and self._places[engine][0] == 0

    def size(self, engines: int, bound: int) -> int:
        """How many of so many engines to take: the bound, or more where gateways are too few to cover all."""
        return max(bound, math.ceil(COVER * engines / self._gateways)) if self._gateways else bound

    def _drawn(self, engines: list[str]) -> list[Place]:
        """The places in the orders of engines that were not asked before."""
        drawn = np.array([_number(each) for each in engines], np.uint64)
        own = _mixed(drawn ^ self._own)
        before = np.zeros(len(engines), np.int64)
        for other in self._others:
            before += _mixed(drawn ^ other) > own
        return list(zip(before.tolist(), (-int(each) for each in own), strict=True))


def subset(nearness: Nearness, engines: Collection[str], bound: int, fails: Callable[[str], bool]) -> list[str]:
    """The engines to be connected to: the first in the gateway's order, until enough of them do not fail.

    Those that fail stay among them, so that it is seen when they are back.

    Args:
        nearness: the gateway's.
        engines: all that there are.
        bound: how many a gateway should have; up to so many it has all.
        fails: whether an engine is known to take no work.
    """
    if len(engines) <= bound:
        return list(engines)
    size, found, chosen = nearness.size(len(engines), bound), 0, []
    for engine in nearness.order(engines):
        if found >= size and not nearness.is_first(engine):
            break
        chosen.append(engine)
        found += not fails(engine)
    return chosen


def _number(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest(), "little")


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The last steps of splitmix64 (Steele, Lea and Flood, 2014): each bit moves all others."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
