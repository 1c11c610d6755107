"""The bucket planner: from the batches that were seen to the sizes and graphs that waste least.

Every batch is padded up to a key, and each key that is used often needs a graph. Fine sizes waste few rows and need
many graphs, coarse ones the reverse. Of all buckets whose graphs fit a budget it takes those of the least padded work.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tulip_rose.rose.graphs.key import Buckets
from tulip_rose.rose.plan.observed import Observed

MULTIPLES = (64, 128, 256, 512, 1024)
"""Products of matrices work in tiles of 64 rows and more: finer multiples would save no work."""
MOST_PREWARMED = 128
"""What a manifest can hold."""
_LADDER = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
_SLACK = 0.005
"""Plans whose work differs by less are about as good."""
_APART = 2 * _LADDER[-1]
"""Two numbers as one: more than there are slots."""
_LEAST_TOP = 512
"""Slots that there are at least, whatever was seen: a batch for which there are none is never served by a graph."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a plan may cost."""

    graphs: int = 64
    """Captured before an engine gets ready, and held."""
    coverage: float = 0.999
    """Share of the batches that those graphs are to serve: a capture in service delays many times the one it is for."""
    slot_rows: float = 0.25
    """Work of a slot, in rows of tokens: an estimate, to be replaced by what a GPU shows."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A key that batches were seen for."""

    tokens: int
    slots: int
    batches: float
    """Share of all batches."""
    wasted: float
    """Share of its rows that are padding, on average."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Buckets, and what they make of the batches that were seen."""

    buckets: Buckets
    prewarm: tuple[Graph, ...]
    """The fewest keys that give the coverage, within the budget; most frequent first."""
    keys: int
    """All that were seen."""
    covered: float
    """Share of batches that a prewarmed graph serves."""
    wasted_rows: float
    """Share of all rows that are padding."""
    wasted_slots: float
    """Share of all slots that hold no sequence of a caller."""
    work: float
    """Rows a batch on average, slots included."""


def propose(observed: Observed, budget: Budget) -> Plan:
    """The plan of least padded work among those that reach the coverage; where none does, the one that comes nearest.

    Of plans that are about as good it is the one with the fewest graphs: each takes its time before an engine is ready.
    """
    ranked = sorted(_priced(observed, budget), key=lambda priced: (priced[0], len(priced[1].slots)))
    enough: list[Plan] = []
    nearest = judge(observed, ranked[0][1], budget)
    for work, buckets in ranked:
        if enough and work > enough[0].work * (1 + _SLACK):
            break
        plan = judge(observed, buckets, budget)
        nearest = max(nearest, plan, key=lambda each: each.covered)
        if plan.covered >= budget.coverage:
            enough.append(plan)
    return min(enough, key=lambda plan: len(plan.prewarm), default=nearest)


def slot_sets(observed: Observed) -> list[tuple[int, ...]]:
    """All that are considered: each has slots for the largest batch that was seen."""
    needed = min(max(int(observed.sequences.max()) + 1, _LEAST_TOP), _LADDER[-1])
    top = next(slots for slots in _LADDER if slots >= needed)
    below = [slots for slots in _LADDER if slots < top]
    return [(*chosen, top) for count in range(len(below) + 1) for chosen in combinations(below, count)]


def judge(observed: Observed, buckets: Buckets, budget: Budget) -> Plan:
    """What buckets make of the batches that were seen."""
    padded = _Padded.of(observed, buckets.rows)
    rows, places, counts = padded.rows, padded.places(buckets.slots), observed.counts
    graphs = _graphs(observed, rows, places)
    prewarm = _prewarm(graphs, budget)
    return Plan(
        buckets=buckets,
        prewarm=prewarm,
        keys=len(graphs),
        covered=min(1.0, sum(graph.batches for graph in prewarm)),
        wasted_rows=1 - float(observed.tokens @ counts / (rows @ counts)),
        wasted_slots=1 - float(np.minimum(observed.sequences, places) @ counts / max(1.0, float(places @ counts))),
        work=_work(observed, rows, places, budget),
    )


@dataclass(frozen=True, slots=True)
class _Padded:
    """`Buckets.fit` of all batches at once."""

    rows: NDArray[np.int64]
    needed: NDArray[np.int64]
    """Slots, the one of a sequence that owns pads included."""

    @classmethod
    def of(cls, observed: Observed, rows_of: Callable[[int], int]) -> "_Padded":
        tokens, index = np.unique(observed.tokens, return_inverse=True)
        rows = np.array([rows_of(each) for each in tokens.tolist()], dtype=np.int64)[index]
        return cls(rows, observed.sequences + (rows > observed.tokens))

    def places(self, slots: tuple[int, ...]) -> NDArray[np.int64]:
        """Slots of each batch; 0: there are not so many, and the engine halves it."""
        found: NDArray[np.int64] = np.array((*slots, 0))[np.searchsorted(slots, self.needed)]
        return found


def _priced(observed: Observed, budget: Budget) -> Iterator[tuple[float, Buckets]]:
    """All buckets that are considered, with their work."""
    sets, most = slot_sets(observed), int(observed.tokens.max())
    for multiple in MULTIPLES:
        padded = _Padded.of(observed, Buckets(multiple).rows)
        for slots in sets:
            work = _work(observed, padded.rows, padded.places(slots), budget)
            yield work, Buckets(multiple, slots, most)


def _work(observed: Observed, rows: NDArray[np.int64], places: NDArray[np.int64], budget: Budget) -> float:
    return float((rows + budget.slot_rows * places) @ observed.counts / observed.counts.sum())


def _graphs(observed: Observed, rows: NDArray[np.int64], places: NDArray[np.int64]) -> list[Graph]:
    """All keys, most frequent first, of equals the smaller one. Batches without slots have none."""
    served = places > 0
    keys, index = np.unique(rows[served] * _APART + places[served], return_inverse=True)
    counts = observed.counts[served]
    batches = np.bincount(index, counts, minlength=keys.size)
    tokens = np.bincount(index, counts * observed.tokens[served], minlength=keys.size)
    padded, slots = keys // _APART, keys % _APART
    shares, wasted = batches / observed.counts.sum(), 1 - tokens / (batches * padded)
    order = np.argsort(-batches, kind="stable")
    return [Graph(int(padded[at]), int(slots[at]), float(shares[at]), float(wasted[at])) for at in order]


def _prewarm(graphs: list[Graph], budget: Budget) -> tuple[Graph, ...]:
    """Keys with more slots than tokens are left to be captured when they are met: a manifest cannot name them."""
    chosen: list[Graph] = []
    covered = 0.0
    for graph in graphs:
        if covered >= budget.coverage or len(chosen) == min(budget.graphs, MOST_PREWARMED):
            break
        if graph.slots <= graph.tokens:
            chosen.append(graph)
            covered += graph.batches
    return tuple(chosen)
