"""`Curve`: what a cell of engines shows at rising load, for whoever has no time for each request.

A fleet of many engines is played second by second; what a request takes there is read from here. Knows no day.
"""

from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from bench.fleet.cell import Cell
from bench.fleet.constants import Constants

LOADS = (0.05, 0.2, 0.35, 0.5, 0.6, 0.7, 0.8, 0.88, 0.95)
"""Of what the engines do with full steps. Beyond the last a second's queue is counted instead."""
CELL = 16
"""Engines of a cell at most: with more of them two at random are no better chosen."""
PERCENTILES = (np.arange(200) + 0.5) / 2


@dataclass(frozen=True)
class Curve:
    """By load, ascending.

    Attributes:
        latencies_s: one row a load, one column each of `PERCENTILES`.
        busy: part of the time in which an engine works.
        speed: tokens a second of busy time.
        batch: mean tokens of a step.
    """

    latencies_s: NDArray[np.float64]
    busy: NDArray[np.float64]
    speed: NDArray[np.float64]
    batch: NDArray[np.float64]

    def at(self, load: NDArray[np.float64]) -> NDArray[np.float64]:
        """Latencies at each of these loads: straight lines between those that were played."""
        place = np.interp(load, LOADS, np.arange(len(LOADS)))
        low = np.minimum(place.astype(int), len(LOADS) - 2)
        part = (place - low)[:, None]
        between: NDArray[np.float64] = self.latencies_s[low] * (1 - part) + self.latencies_s[low + 1] * part
        return between


def curve(engines: int, constants: Constants, counts: dict[int, int], seed: int, texts: int) -> Curve:
    """Play a cell at each load.

    Args:
        engines: of the fleet; the cell has `CELL` of them at most.
        constants: of an engine.
        counts: texts by their tokens.
        seed: decides all that is random.
        texts: at each load, about.
    """
    cells = []
    for load in LOADS:
        cell = Cell(min(engines, CELL), constants, counts, Random(seed))
        rate = load * constants.full_speed * len(cell.engines)
        seconds = max(1, round(texts * cell.mean_tokens / rate))
        cell.run([rate] * seconds)
        cells.append((cell, seconds))
    return Curve(
        np.array([np.percentile(cell.latencies_s, PERCENTILES) for cell, _ in cells]),
        np.array([sum(each.busy_s for each in cell.engines) / len(cell.engines) / seconds for cell, seconds in cells]),
        np.array([_tokens(cell) / sum(each.busy_s for each in cell.engines) for cell, _ in cells]),
        np.array([_tokens(cell) / sum(each.steps for each in cell.engines) for cell, _ in cells]),
    )


def _tokens(cell: Cell) -> int:
    return sum(each.tokens for each in cell.engines)
