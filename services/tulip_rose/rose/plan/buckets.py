"""The bucket planner: from the batches that were seen to the sizes and graphs that waste least.

Every batch is padded up to a key, and each key that is used often needs a graph. Fine sizes waste few rows and need
many graphs, coarse ones the reverse. Of all schemes whose graphs fit a budget it takes one of the least padded work.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tulip_rose.rose.plan.observed import Observed
from tulip_rose.rose.plan.scheme import Scheme

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
    coverage: float = 0.99
    """Share of the batches that those graphs are to serve."""
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
    """A scheme, and what it makes of the batches that were seen."""

    scheme: Scheme
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
    ranked = sorted((_work(observed, scheme, budget), len(scheme.slots), scheme) for scheme in schemes(observed))
    enough: list[Plan] = []
    nearest = judge(observed, ranked[0][2], budget)
    for work, _, scheme in ranked:
        if enough and work > enough[0].work * (1 + _SLACK):
            break
        plan = judge(observed, scheme, budget)
        nearest = max(nearest, plan, key=lambda each: each.covered)
        if plan.covered >= budget.coverage:
            enough.append(plan)
    return min(enough, key=lambda plan: len(plan.prewarm), default=nearest)


def schemes(observed: Observed) -> Iterator[Scheme]:
    """All that are considered: each has slots for the largest batch that was seen."""
    needed = min(max(int(observed.sequences.max()) + 1, _LEAST_TOP), _LADDER[-1])
    top = next(slots for slots in _LADDER if slots >= needed)
    below = [slots for slots in _LADDER if slots < top]
    for count in range(len(below) + 1):
        for chosen in combinations(below, count):
            yield from (Scheme(multiple, (*chosen, top)) for multiple in MULTIPLES)


def judge(observed: Observed, scheme: Scheme, budget: Budget) -> Plan:
    """What a scheme makes of the batches that were seen."""
    rows, places = _padded(observed, scheme)
    counts = observed.counts
    graphs = _graphs(observed, rows, places)
    prewarm = _prewarm(graphs, budget)
    return Plan(
        scheme=scheme,
        prewarm=prewarm,
        keys=len(graphs),
        covered=min(1.0, sum(graph.batches for graph in prewarm)),
        wasted_rows=1 - float(observed.tokens @ counts / (rows @ counts)),
        wasted_slots=1 - float(np.minimum(observed.sequences, places) @ counts / max(1.0, float(places @ counts))),
        work=_work(observed, scheme, budget),
    )


def _padded(observed: Observed, scheme: Scheme) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rows = scheme.rows(observed.tokens)
    return rows, scheme.places(observed.sequences, rows > observed.tokens)


def _work(observed: Observed, scheme: Scheme, budget: Budget) -> float:
    rows, places = _padded(observed, scheme)
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
