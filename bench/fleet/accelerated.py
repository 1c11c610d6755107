"""What it saves that small batches of accelerators are no measure of them: `python -m bench.fleet.accelerated`.

Fleets of an engine that nobody has measured, see `ACCELERATED`: what is compared are two formulas on the same engine,
and not how many engines a load needs.
"""

from dataclasses import asdict
from typing import Any

from bench.fleet.constants import ACCELERATED
from bench.fleet.curve import LOADS, Curve, curve
from bench.fleet.scenario import SCENARIOS, scenario
from bench.fleet.strategy import ON_ACCELERATORS
from bench.lengths import recorded
from bench.record import surroundings, table, write
from bench.simulate_autoscaling import CORPUS, play, summary

SEED, TEXTS, BOUND_S = 11, 10_000, 1.0
FLEETS = (1, 10)


def main() -> None:
    """Play, print the page and write it to `bench/results`."""
    around, counts = surroundings(("numpy",)), recorded()[CORPUS]
    curves = {engines: curve(engines, ACCELERATED, counts, SEED, TEXTS) for engines in FLEETS}
    found = [row for name in SCENARIOS for engines in FLEETS for row in _played(name, engines, curves[engines])]
    sections = [
        ("What is simulated", _about()),
        ("Found", _table(found)),
        ("Batches of one engine", _batches(curves[1])),
    ]
    title = "Autoscaling of accelerators that are assumed, simulated"
    data = {"constants": asdict(ACCELERATED), "seed": SEED, "runs": found}
    print(write("accelerated", title, around, sections, data).read_text(encoding="utf-8"))


def _played(name: str, engines: int, read: Curve) -> list[dict[str, Any]]:
    runs = play(scenario(name, engines, ACCELERATED, SEED), engines, read, ON_ACCELERATORS)
    whose = {"scenario": name, "fleet": engines}
    return [whose | {"strategy": way} | summary(run, read, BOUND_S) for way, run in runs.items()]


def _table(found: list[dict[str, Any]]) -> str:
    header = ["scenario, fleet", "strategy", "late or refused", "p99 ms", "engine hours", "most engines"]
    rows = [
        [
            f"{run['scenario']}, {run['fleet']}",
            run["strategy"],
            f"{run['missed']:.2%}",
            f"{run['p99_ms']:,.0f}",
            f"{run['engine_hours']:,.1f}",
            f"{run['most']:,.0f}",
        ]
        for run in found
    ]
    return table(header, rows)


def _batches(read: Curve) -> str:
    """Why: an engine is busy long before it is at its end."""
    rows = [
        [f"{load:.0%}", f"{busy:.0%}", f"{batch:,.0f}", f"{speed / ACCELERATED.full_speed:.0%}"]
        for load, busy, batch, speed in zip(LOADS, read.busy, read.batch, read.speed, strict=True)
    ]
    return table(["load", "busy", "tokens a batch", "speed while busy, of full batches'"], rows)


def _about() -> str:
    return (
        f"**A simulation of an engine that is assumed whole**: a step takes {ACCELERATED.step_ms:g} ms and "
        f"{1000 * ACCELERATED.token_ms:g} µs a token, a batch holds {ACCELERATED.batch_tokens:,} tokens, a queue "
        f"{ACCELERATED.queue_tokens:,}, and an engine serves {ACCELERATED.start_s} s after it was wished for. All else "
        "is as in the record `autoscaling`: stories, lengths, clocks. A fleet is named by the engines its peak needs "
        f"at {ACCELERATED.utilization:.0%} of full batches' speed, and may become twice as large. Where small batches "
        "measure, the rate is divided by what engines did lately, however small their batches were."
    )


if __name__ == "__main__":
    main()
