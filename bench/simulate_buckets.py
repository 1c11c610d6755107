"""What buckets cost and save, in virtual time: `python -m bench.simulate_buckets`.

Texts have recorded lengths (bench/lengths.json). Compared are graphs by (tokens, slots) with one graph for each exact
number of sequences. No device is needed, and none is measured: what a step takes is assumed, see `Costs`.
"""

import argparse
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from prometheus_client import generate_latest
from tulip_rose.planning.read import of_metrics
from tulip_rose.rose.graphs.book import Run
from tulip_rose.rose.graphs.key import Buckets
from tulip_rose.rose.plan.buckets import Budget, propose
from tulip_rose.rose.plan.observed import Observed
from tulip_rose.tulip.metrics import Metrics

from bench.lengths import recorded
from bench.record import surroundings, table, write
from bench.virtual_engine import ROWS_PER_MS, Costs, Scheme, Seen, VirtualEngine

SEED = 11
_EXACT = tuple(range(1, 1025))
_HELD = 64
_COLD_MS = 2_000.0
_ONE_TEXT = 0.9
_MEAN_TEXTS = 16
_PLANNED, _COUNTERPART = 1, 4
"""Places among the schemes."""


@dataclass(frozen=True, slots=True)
class Load:
    """How much comes.

    Attributes:
        name: in tables.
        share: of what the device could do with large batches and no padding.
    """

    name: str
    share: float


LOADS = (Load("light", 0.05), Load("busy", 0.5))


def main() -> None:
    """Simulate, print the tables and write them to `bench/results`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="Simulated time of each run.")
    options = parser.parse_args()
    around, costs = surroundings(("numpy",)), Costs()
    found = {
        f"{corpus}, {load.name} load": compare(Random(SEED), counts, load, costs, 1000 * options.seconds)
        for corpus, counts in recorded().items()
        for load in LOADS
    }
    sections = [("What is simulated", _assumed(costs, options.seconds))]
    sections.append(("Planned beside exact numbers of sequences, both prewarmed", _short(found)))
    sections += [(name, _table(runs)) for name, runs in found.items()]
    data = {"costs": asdict(costs), "seed": SEED, "runs": found}
    path = write("simulated-buckets", "CUDA graphs by (tokens, slots), simulated", around, sections, data)
    print(path.read_text(encoding="utf-8"))


def compare(
    random: Random, counts: dict[int, int], load: Load, costs: Costs, duration_ms: float
) -> list[dict[str, Any]]:
    """All schemes under one load; plans are made of another run of it, as of the day before."""
    yesterday, today = (list(calls(random, counts, load, duration_ms)) for _ in range(2))
    exact = Buckets(slots=_EXACT)
    before = [VirtualEngine(Scheme("", buckets, _HELD), costs).run(yesterday) for buckets in (Buckets(), exact)]
    schemes = (
        Scheme("(T, S), nothing prewarmed", Buckets(), _HELD),
        _planned("planned", Observed.of(before[0].batches)),
        _planned("planned by metrics", _scraped(before[0])),
        Scheme("exact sequences, nothing prewarmed", exact, _HELD),
        Scheme(f"exact sequences, {_HELD} prewarmed", exact, _HELD, _frequent(before[1], exact)),
        Scheme("exact sequences, all graphs kept", exact, 1_000_000),
    )
    return [_shown(scheme, costs, VirtualEngine(scheme, costs).run(today), duration_ms) for scheme in schemes]


def calls(random: Random, counts: dict[int, int], load: Load, duration_ms: float) -> Iterator[tuple[float, list[int]]]:
    """Calls as strangers make them: most of one text, some of more."""
    lengths, weights = list(counts), list(counts.values())
    mean = sum(length * count for length, count in counts.items()) / sum(weights)
    texts = _ONE_TEXT + (1 - _ONE_TEXT) * (1 + _MEAN_TEXTS)
    gap_ms = mean * texts / (ROWS_PER_MS * load.share)
    at = random.expovariate(1 / gap_ms)
    while at < duration_ms:
        more = 0 if random.random() < _ONE_TEXT else 1 + int(random.expovariate(1 / _MEAN_TEXTS))
        yield at, random.choices(lengths, weights, k=1 + more)
        at += random.expovariate(1 / gap_ms)


def _planned(name: str, observed: Observed) -> Scheme:
    plan = propose(observed, Budget(graphs=_HELD))
    prewarm = tuple((graph.tokens, graph.slots) for graph in plan.prewarm)
    return Scheme(f"(T, S) {name}, {len(prewarm)} prewarmed", plan.buckets, _HELD, prewarm)


def _scraped(seen: Seen) -> Observed:
    """What an engine's `/metrics` tells of the same batches: two histograms."""
    metrics = Metrics()
    for (sequences, tokens), count in seen.batches.items():
        for _ in range(count):
            metrics.launched(sequences, tokens)
    return of_metrics(generate_latest(metrics.registry).decode())


def _frequent(seen: Seen, buckets: Buckets) -> tuple[tuple[int, int], ...]:
    """The keys that a plan would prewarm of the exact ones: those met most often."""
    keys: dict[tuple[int, int], int] = {}
    for (sequences, tokens), count in seen.batches.items():
        key = buckets.fit(tokens, sequences)
        if key is not None:
            keys[key] = keys.get(key, 0) + count
    return tuple(sorted(keys, key=lambda key: -keys[key])[:_HELD])


def _shown(scheme: Scheme, costs: Costs, seen: Seen, duration_ms: float) -> dict[str, Any]:
    half = duration_ms / 2
    return {
        "scheme": scheme.name,
        "padded rows": 1 - seen.tokens / seen.rows,
        "empty slots": 1 - seen.sequences / seen.slots,
        "sizes met": len(seen.keys),
        "before ready s": len(scheme.prewarm) * costs.capture_ms / 1000,
        "prewarmed serve": _served(scheme, seen),
        "captured in service": seen.runs[Run.CAPTURE],
        "replayed": seen.runs[Run.REPLAY] / seen.runs.total(),
        "cold p50 ms": seen.latency_ms(50, 0, _COLD_MS),
        "cold p99 ms": seen.latency_ms(99, 0, _COLD_MS),
        "warm p50 ms": seen.latency_ms(50, half, duration_ms),
        "warm p99 ms": seen.latency_ms(99, half, duration_ms),
        "calls": len(seen.waits),
    }


def _served(scheme: Scheme, seen: Seen) -> float:
    """Share of the batches for which a graph was ready from the start."""
    ready = set(scheme.prewarm)
    sizes = ((scheme.buckets.fit(tokens, sequences), n) for (sequences, tokens), n in seen.batches.items())
    return sum(n for key, n in sizes if key in ready) / seen.batches.total()


def _short(found: dict[str, list[dict[str, Any]]]) -> str:
    """One line a load: the plan and its counterpart."""
    columns = ("padded rows", "prewarmed serve", "captured in service", "replayed", "cold p99 ms", "warm p99 ms")
    pairs = [(name, runs[_PLANNED], runs[_COUNTERPART]) for name, runs in found.items()]
    rows = [
        [name, *(f"{_cell(column, planned[column])} / {_cell(column, exact[column])}" for column in columns)]
        for name, planned, exact in pairs
    ]
    return table(["planned / exact", *columns], rows)


def _table(runs: list[dict[str, Any]]) -> str:
    rows = [[_cell(name, value) for name, value in run.items()] for run in runs]
    return table(list(runs[0]), rows)


def _cell(name: str, value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.1f}" if name.endswith((" ms", " s")) else f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _assumed(costs: Costs, seconds: float) -> str:
    lines = ", ".join(f"{ms} ms at {rows}" for rows, ms in costs.by_rows)
    return (
        "Virtual time, with the engine's own scheduler, padding law and book of graphs. **The device is assumed, not "
        f"measured**: rows {lines}, beyond {ROWS_PER_MS} rows a ms; a slot costs as much as {costs.slot_rows} rows; "
        f"host time {costs.replay_ms} ms with a graph, {costs.eager_ms} ms without, {costs.capture_ms} ms to capture "
        "one. Attention's square is left out: texts have at most 512 tokens. A batch of more sequences than the "
        "largest step is one step without a graph, where the engine makes halves of it.\n\n"
        f"{seconds:g} s a run, seed {SEED}, calls at random times: {_ONE_TEXT:.0%} of one text, the others of "
        f"{_MEAN_TEXTS} more on average. Light load is {LOADS[0].share:.0%} of what the device could do without "
        f"padding, busy {LOADS[1].share:.0%}. At most {_HELD} graphs are held, but for the last line. Cold: calls of "
        f"the first {_COLD_MS / 1000:g} s; warm: of the second half. Plans are made of a run of other calls. "
        "Slow steps make larger batches, which need less padding: padded rows compare only what replays about as much."
    )


if __name__ == "__main__":
    main()
