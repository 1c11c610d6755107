"""How many engines and gateways a load needs, and what many engines cost: `python -m bench.fleet.sizing`.

Prints the tables of docs/sizing.md. Pure arithmetic over `bench.fleet.constants`.
"""

import math
from dataclasses import dataclass

from bench.fleet.constants import Constants, Edges
from bench.record import table

SLICE = 100
"""Endpoints in one EndpointSlice, by Kubernetes' default."""
CHANGES = 3
"""Of slices, for a pod that is replaced: the new one comes, the old one is on its way out, the old one is gone."""
GATEWAYS = 100
HELD = 300
"""Engines that a gateway holds at most, by default."""
MOST = 1000
"""Engines of a model, as the API has it."""
_ENGINE, _EDGES = Constants(), Edges()
_LOADS = (
    (10, 92, 1),
    (100, 92, 1),
    (1_000, 92, 1),
    (1_000, 92, 16),
    (1_000, 300, 16),
    (10_000, 92, 1),
    (10_000, 92, 16),
)
_COUNTS = (10, 100, 300, 1_000, 3_000, 10_000)


@dataclass(frozen=True)
class Size:
    """Of a deployment.

    Attributes:
        engines: of two threads.
        gateways: of one core.
    """

    engines: int
    gateways: int


def size(texts_per_second: float, tokens: float, texts: float) -> Size:
    """What a load needs at the utilization that is aimed at.

    Args:
        texts_per_second: at the peak.
        tokens: of a text, on average.
        texts: of a request, on average.

    Raises:
        ValueError: one model cannot have so many engines.
    """
    rate = texts_per_second * tokens
    engines = max(1, math.ceil(rate / (_ENGINE.full_speed * _ENGINE.utilization)))
    if engines > MOST:
        raise ValueError(f"one model has at most {MOST:,} engines, and this needs {engines:,}")
    held = min(engines, HELD)
    request_us = _EDGES.request_cpu_us + texts * _EDGES.text_cpu_us + held * _EDGES.choice_us
    left = _ENGINE.utilization - looks(held)
    return Size(engines, max(1, math.ceil(texts_per_second / texts * request_us / 1e6 / left)))


def looks(engines: int) -> float:
    """Cores that a gateway spends on asking engines whether they serve."""
    return engines * _EDGES.look_cpu_us / 1e6 / _EDGES.look_each_s


def left(engines: int) -> float:
    """Requests of one text that a gateway of one core can take, as a part of those that it can with one engine."""
    return _requests(engines) / _requests(1)


def _requests(engines: int) -> float:
    free = max(0.0, 1 - looks(engines))
    return free * 1e6 / (_EDGES.request_cpu_us + _EDGES.text_cpu_us + engines * _EDGES.choice_us)


def sizes() -> str:
    """The table of loads."""
    rows = []
    for rate, tokens, texts in _LOADS:
        try:
            found = size(rate, tokens, texts)
            needed = [f"{found.engines:,}", f"{found.gateways:,}"]
        except ValueError:
            needed = [
                f"{math.ceil(rate * tokens / _ENGINE.full_speed / _ENGINE.utilization):,}",
                "not as one model",
            ]
        rows.append([f"{rate:,}", f"{tokens}", f"{texts}", *needed])
    return table(
        ["texts a second", "tokens a text", "texts a request", "engines of 2 threads", "gateways of 1 core"], rows
    )


def growth() -> str:
    """The table of engines."""
    rows = []
    for engines in _COUNTS:
        slices = math.ceil(engines / SLICE)
        listed = slices * _EDGES.slice_bytes if engines >= SLICE else engines * _EDGES.slice_bytes / SLICE
        told = CHANGES * engines * min(listed, _EDGES.slice_bytes)
        rows.append(
            [
                f"{engines:,}",
                f"{slices:,}",
                f"{listed / 1e6:,.2f}",
                f"{told / 1e6:,.1f}",
                f"{engines * GATEWAYS:,}",
                f"{engines * _EDGES.connection_kib / 1024:,.0f}",
                f"{engines * _EDGES.choice_us / 1000:,.2f}",
                f"{looks(engines):.0%}",
                f"{left(engines):.0%}",
                f"{left(min(engines, HELD)):.0%}",
            ]
        )
    return table(
        [
            "engines",
            "slices",
            "MB a list",
            "MB a rollout",
            f"connections, {GATEWAYS} gateways",
            "MiB a gateway",
            "ms a choice",
            "of a core for looks",
            "requests left",
            f"with {HELD} held",
        ],
        rows,
    )


def main() -> None:
    """Print both tables."""
    print(sizes(), growth(), sep="\n\n")


if __name__ == "__main__":
    main()
