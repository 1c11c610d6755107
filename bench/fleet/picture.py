"""A day as a picture: load, engines, and the 99th percentile of latency. Knows no simulation."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

_COLOURS = ("#2e7d32", "#1565c0", "#6b7280", "#b0b7c1", "#c62828")


@dataclass(frozen=True)
class Lines:
    """Of one way to scale.

    Attributes:
        engines: in each second, those that start included.
        p99_ms: of each minute.
    """

    engines: NDArray[np.float64]
    p99_ms: NDArray[np.float64]


def draw(title: str, load: NDArray[np.float64], found: Mapping[str, Lines], bound_ms: float, path: Path) -> None:
    """Write a PNG.

    Args:
        title: over it.
        load: tokens that come, in each second.
        found: by the way to scale.
        bound_ms: drawn as a line.
        path: of the file.
    """
    figure = Figure(figsize=(9, 7), dpi=72, layout="constrained")
    came, engines, late = figure.subplots(3, 1, sharex=True)
    hours = np.arange(load.size)[::60] / 3600
    came.plot(hours, load[::60] / 1000, color="#24292f", linewidth=0.9)
    came.set_ylabel("load, 1,000 tokens/s")
    for (name, lines), colour in zip(found.items(), _COLOURS, strict=False):
        engines.plot(hours, lines.engines[::60], color=colour, linewidth=1, label=name)
        late.plot(hours[: lines.p99_ms.size], lines.p99_ms, color=colour, linewidth=0.8)
    late.axhline(bound_ms, color="#24292f", linewidth=0.7, linestyle=":")
    late.set_yscale("log")
    late.set_ylabel("p99 of a minute, ms")
    late.set_xlabel("hour")
    engines.set_ylabel("engines")
    engines.legend(fontsize=8, frameon=False)
    came.set_ylim(bottom=0)
    engines.set_ylim(bottom=0)
    came.set_title(title, fontsize=10)
    figure.savefig(path)
