"""What autoscaling saves and costs, in virtual time: `python -m bench.simulate_autoscaling`.

Played are days, bursts, slow starts and lost engines, with the operator's formula, the engine's scheduler and the
gateway's choice of an engine. Compared are the formula, fleets that never change, and an autoscaler on CPU. Nothing is
measured here: what engines take is in `bench.fleet.constants`, with its sources.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from bench.fleet.cell import GATEWAYS, Cell
from bench.fleet.constants import Constants
from bench.fleet.curve import CELL, LOADS, Curve, curve
from bench.fleet.fleet import Fleet, Played, latencies, percentile
from bench.fleet.picture import Lines, draw
from bench.fleet.scalers import Static
from bench.fleet.scenario import SCENARIOS, Scenario, scenario
from bench.fleet.strategy import MANY_WAITING, STRATEGIES, WAIT_S, Strategy
from bench.lengths import recorded
from bench.record import RESULTS, surroundings, table, write

CORPUS = "Debian's descriptions, English"
_FLEETS = (1, 10, 100, 1000)
_CHECK_ENGINES = 4
_CHECK = [0.5] * 30 + [1.4] * 15 + [0.5] * 30
"""Load of a fleet that is played both ways, as a part of what its engines do."""
_NAMES = {
    "missed": "late or refused",
    "refused": "refused",
    "p50_ms": "p50 ms",
    "p99_ms": "p99 ms",
    "engine_hours": "engine hours",
    "most": "most engines",
}


@dataclass(frozen=True)
class Page:
    """One scenario of one fleet, played with each strategy."""

    name: str
    story: Scenario
    fleet: int
    curve: Curve
    runs: dict[str, Played]


def main() -> None:
    """Simulate, print the tables and write them to `bench/results`, or elsewhere."""
    options = _options()
    around, constants, counts = surroundings(("numpy",)), Constants(), recorded()[CORPUS]
    found: list[dict[str, Any]] = []
    shown = None
    curves = {engines: curve(engines, constants, counts, options.seed, options.texts) for engines in options.replicas}
    for page in _pages(options, constants, curves):
        found += _rows(page, options.bound_ms / 1000)
        if page.name == options.scenario[0] and page.fleet == max(options.replicas):
            shown = page
    if shown is None:
        raise RuntimeError("nothing was played")
    options.results.mkdir(parents=True, exist_ok=True)
    picture = options.results / f"{around['date'][:10]}-autoscaling.png"
    _draw(shown, options.bound_ms, picture)
    check = cross_check(constants, counts, options)
    data = {"constants": asdict(constants), "seed": options.seed, "bound_ms": options.bound_ms}
    data |= {"runs": found, "check": check}
    sections = [
        ("What is simulated", _assumed(options, constants)),
        ("Found", _table(found)),
        ("A cell by its load", _cells(curves)),
        ("Seconds held against requests", _checked(check)),
        ("Picture", f"![load, engines and latency]({picture.name})"),
    ]
    path = write("autoscaling", "Autoscaling, simulated", around, sections, data, options.results)
    print(path.read_text(encoding="utf-8"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--replicas", type=_engines, nargs="+", default=list(_FLEETS), help="Engines that the peak needs, 1 to 1000."
    )
    parser.add_argument(
        "--scenario", choices=tuple(SCENARIOS), nargs="+", default=list(SCENARIOS), help="What happens; default: all."
    )
    parser.add_argument("--texts", type=int, default=10_000, help="Texts that a cell plays at each load, about.")
    parser.add_argument("--seed", type=int, default=11, help="Decides all that is random.")
    parser.add_argument("--bound-ms", type=float, default=1000.0, help="Answers that take longer are late.")
    parser.add_argument("--results", type=Path, default=RESULTS, help="Folder of the record and the picture.")
    return parser.parse_args()


def _engines(text: str) -> int:
    number = int(text)
    if not 1 <= number <= _FLEETS[-1]:
        raise argparse.ArgumentTypeError(f"{number} is not from 1 to {_FLEETS[-1]}")
    return number


def _pages(options: argparse.Namespace, constants: Constants, curves: dict[int, Curve]) -> Iterator[Page]:
    for name in options.scenario:
        for engines in options.replicas:
            story = scenario(name, engines, constants, options.seed)
            yield Page(name, story, engines, curves[engines], play(story, engines, curves[engines]))


def play(story: Scenario, engines: int, curve: Curve, strategies: Sequence[Strategy] = STRATEGIES) -> dict[str, Played]:
    """One scenario with each strategy, for a fleet whose peak needs so many engines."""
    runs = {}
    for strategy in strategies:
        scaler, begin = strategy.begin(story, engines)
        runs[strategy.name] = Fleet(story, scaler, curve, begin).play()
    return runs


def summary(played: Played, curve: Curve, bound_s: float) -> dict[str, float]:
    """What a run comes to; shares are of the texts, latencies of the answered ones."""
    bins, by_minute = latencies(played, curve)
    weights, load = by_minute.sum(axis=0), float(played.load.sum())
    refused = float(played.refused.sum()) / load
    late = float(weights[bins > bound_s].sum()) / load
    return {
        "missed": late + refused,
        "refused": refused,
        "p50_ms": 1000 * percentile(bins, weights, 50),
        "p99_ms": 1000 * percentile(bins, weights, 99),
        "engine_hours": float(played.paid.sum()) / 3600,
        "most": float(played.paid.max()),
    }


def cross_check(
    constants: Constants, counts: dict[int, int], options: argparse.Namespace
) -> dict[str, dict[str, float]]:
    """A fixed fleet that is overrun for a while, request by request and second by second."""
    rates = np.array(_CHECK) * _CHECK_ENGINES * constants.full_speed
    bound_s = options.bound_ms / 1000
    cell = Cell(_CHECK_ENGINES, constants, counts, Random(options.seed))
    cell.run(list(rates))
    found = np.array(cell.latencies_s)
    read = curve(_CHECK_ENGINES, constants, counts, options.seed + 1, options.texts)
    story = Scenario("", rates, constants, {})
    by_second = summary(Fleet(story, Static(_CHECK_ENGINES), read, _CHECK_ENGINES).play(), read, bound_s)
    by_request = {
        "missed": float((found > bound_s).sum() + cell.refused) / (found.size + cell.refused),
        "p50_ms": 1000 * float(np.percentile(found, 50)),
        "p99_ms": 1000 * float(np.percentile(found, 99)),
    }
    return {"each request": by_request, "each second": {name: by_second[name] for name in by_request}}


def _rows(page: Page, bound_s: float) -> list[dict[str, Any]]:
    whose = {"scenario": page.name, "fleet": page.fleet}
    return [whose | {"strategy": name} | summary(played, page.curve, bound_s) for name, played in page.runs.items()]


def _draw(page: Page, bound_ms: float, path: Path) -> None:
    lines = {}
    for name, played in page.runs.items():
        bins, by_minute = latencies(played, page.curve)
        p99_ms = np.array([1000 * percentile(bins, minute, 99) for minute in by_minute])
        lines[name] = Lines(played.paid, p99_ms)
    draw(f"{page.name}: {page.story.about}; {page.fleet} engines at the peak", page.story.load, lines, bound_ms, path)


def _table(found: list[dict[str, Any]]) -> str:
    header = ["scenario, fleet", "strategy", *_NAMES.values()]
    rows = [
        [
            f"{run['scenario']}, {run['fleet']:,}",
            run["strategy"],
            *(f"{run[name]:.3%}" for name in ("missed", "refused")),
            *(f"{run[name]:,.0f}" for name in ("p50_ms", "p99_ms")),
            f"{run['engine_hours']:,.1f}",
            f"{run['most']:,.0f}",
        ]
        for run in found
    ]
    return table(header, rows)


def _cells(curves: dict[int, Curve]) -> str:
    """Latencies that requests of one text have in fleets that stay, by load."""
    cells = {min(engines, CELL): each for engines, each in curves.items()}
    header = ["load", *(f"{engines} engines, p{percent} ms" for engines in cells for percent in (50, 99))]
    rows = [
        [
            f"{load:.0%}",
            *(
                f"{1000 * np.percentile(each.latencies_s[place], percent):,.0f}"
                for each in cells.values()
                for percent in (50, 99)
            ),
        ]
        for place, load in enumerate(LOADS)
    ]
    return table(header, rows)


def _checked(check: dict[str, dict[str, float]]) -> str:
    rows = [
        [name, f"{run['missed']:.2%}", f"{run['p50_ms']:,.0f}", f"{run['p99_ms']:,.0f}"] for name, run in check.items()
    ]
    about = (
        f"{_CHECK_ENGINES} engines that stay, at half of what they do for 30 s, at 1.4 times for 15 s, at half again "
        "for 30 s: once request by request, once as the table above is made.\n\n"
    )
    return about + table(["played by", "late or refused", "p50 ms", "p99 ms"], rows)


def _assumed(options: argparse.Namespace, constants: Constants) -> str:
    stories = [f"- {name}: {scenario(name, 10, constants, options.seed).about}." for name in options.scenario]
    return "\n\n".join((_clocks(options, constants), _rules(options, constants), "\n".join(stories)))


def _clocks(options: argparse.Namespace, constants: Constants) -> str:
    return (
        "**A simulation.** One engine is all-MiniLM-L6-v2 in float32 on two threads, "
        f"{constants.full_speed:,.0f} tokens a second in full steps; lengths are of {CORPUS} (`bench/lengths.json`), "
        f"one text a request, seed {options.seed}. Where each constant is from: `bench/fleet/constants.py`.\n\n"
        "Two clocks. Request by request, a heap of events plays a cell of as many engines as the fleet has, "
        f"{CELL} at most, and {GATEWAYS} gateways, with the real scheduler and the real choice of an engine, at nine "
        f"loads from 5 % to 95 %, {options.texts:,} texts each. Second by second, a whole fleet has one queue in "
        "tokens, and the real formula; what a request takes is read from the cell at the second's load, and what waits "
        "from before is added. So larger fleets are aggregated twice: one cell stands for all of it, and one queue for "
        "those of all engines."
    )


def _rules(options: argparse.Namespace, constants: Constants) -> str:
    return (
        f"A fleet is named by the engines that its peak needs at {constants.utilization:.0%}. Load drifts by 5 % from "
        f"minute to minute. An engine serves {constants.start_s} s after it was wished for (assumed); what has begun "
        f"to start is paid for. A late answer takes more than {options.bound_ms:g} ms. Calls of an engine that dies "
        f"are asked again elsewhere at once.\n\nFormula: best capacity of an hour, rate over {constants.rate_s} s, and "
        f"waiting tokens an engine as many as it does in {WAIT_S:g} s by default, or {MANY_WAITING:,}. HPA on "
        f"CPU: ceil(engines x busy / {constants.utilization:g}) of the last {constants.scrape_s} s, where a pod asks "
        f"for as much CPU as its threads can use. Both: a decision each {constants.sync_s} s on metrics of the last "
        f"scrape, each {constants.scrape_s} s; a tolerance of 10 %; at most twice the engines, or 4 more, a step; "
        f"fewer after {constants.fewer_after_s} s; from 1 engine to twice the peak's."
    )


if __name__ == "__main__":
    main()
