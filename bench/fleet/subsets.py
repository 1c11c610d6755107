"""What it changes that gateways hold a part of many engines: `python -m bench.fleet.subsets`.

Ways to choose the part are compared by computation, and the one that gateways have is played against all connections:
1,000 engines and 100 gateways, request by request. Takes some minutes.
"""

from random import Random
from typing import Any

import numpy as np

from bench.fleet.cell import Cell
from bench.fleet.constants import Constants
from bench.fleet.ways import WAYS, Judged, judged
from bench.lengths import recorded
from bench.record import surroundings, table, write
from bench.simulate_autoscaling import CORPUS

ENGINES, GATEWAYS, SEED, SECONDS = 1000, 100, 11, 1
BOUND_S = 1.0
HELD = {"300": 300, "100": 100, "all": None}
LOADS = (0.7, 0.88)
COMPARED = ((1000, 13, 300), (1000, 100, 300), (1000, 160, 100))
"""Engines, gateways, and engines that each holds."""


def main() -> None:
    """Compute and play, print the page and write it to `bench/results`."""
    around, constants = surroundings(("numpy",)), Constants()
    ways = compare()
    played = [play(name, load, constants) for load in LOADS for name in HELD]
    ways_found = {f"{name} / {place}": vars(each) for (name, place), each in ways.items()}
    sections = [
        ("What is compared", _about()),
        ("Ways to choose", ways_table(ways)),
        ("Request by request", played_table(played)),
    ]
    title = "A part of the engines for each gateway, simulated"
    path = write("subsets", title, around, sections, {"ways": ways_found, "played": played})
    print(path.read_text(encoding="utf-8"))


def compare() -> dict[tuple[str, str], Judged]:
    """Each way in each place."""
    return {
        (name, f"{engines:,} engines, {gateways} gateways, {size} held"): judged(way, gateways, engines, size, SEED)
        for engines, gateways, size in COMPARED
        for name, way in WAYS.items()
    }


def ways_table(ways: dict[tuple[str, str], Judged]) -> str:
    """What was found of them."""
    header = ["way", "place", "gateways an engine", "busiest engine", "opened when an engine goes", "a gateway"]
    rows = [
        [
            name,
            place,
            f"{each.fewest}-{each.most}",
            f"{each.heaviest:.2f}",
            f"{each.engine_goes:.2f}",
            f"{each.gateway_goes:.1f}",
        ]
        for (name, place), each in ways.items()
    ]
    return table(header, rows)


def play(name: str, load: float, constants: Constants) -> dict[str, Any]:
    """A fleet that stays, for a while at a load; what its requests took."""
    cell = Cell(ENGINES, constants, recorded()[CORPUS], Random(SEED), GATEWAYS, HELD[name])
    cell.run([load * constants.full_speed * ENGINES] * SECONDS)
    found = np.array(cell.latencies_s)
    p50, p99 = (1000 * float(np.percentile(found, percent)) for percent in (50, 99))
    late = float((found > BOUND_S).sum() + cell.refused) / (found.size + cell.refused)
    return {"held": name, "load": load, "texts": found.size, "p50_ms": p50, "p99_ms": p99, "late": late}


def played_table(played: list[dict[str, Any]]) -> str:
    """What was played."""
    rows = [
        [
            f"{each['load']:.0%}, {each['held']} held",
            f"{each['texts']:,}",
            f"{each['p50_ms']:.0f}",
            f"{each['p99_ms']:.0f}",
            f"{each['late']:.3%}",
        ]
        for each in played
    ]
    return table(["load", "texts", "p50 ms", "p99 ms", "late or refused"], rows)


def _about() -> str:
    return (
        "**Computed**: names of gateways and engines are drawn from a seed; a gateway spreads its share evenly over "
        "what it holds. Opened are connections, the mean of the gateways, when one engine goes and when a gateway does."
        f"\n\n**Simulated**: {ENGINES:,} engines and {GATEWAYS} gateways with the real scheduler, choice of an engine "
        f"and choice of a part, lengths of {CORPUS}, one text a request, seed {SEED}, {SECONDS} s of arrivals that "
        f"begin with idle engines. Late is an answer after {BOUND_S:g} s."
    )


if __name__ == "__main__":
    main()
