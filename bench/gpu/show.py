"""Markdown of what was measured. Knows no device and no engine."""

from collections.abc import Sequence
from statistics import median

import numpy as np

from bench.gpu.clients import Served
from bench.gpu.correct import Parity, Sameness
from bench.gpu.speed import Times
from bench.gpu.targets import GPU_OF_TARGETS, Target
from bench.gpu.timeline import REST, WHOLE, HostTimes
from bench.record import Spread, table


def parities(found: Sequence[Parity], likeness: float) -> str:
    rows = [
        [
            each.name,
            each.dtype,
            f"{each.cosine:.6f}",
            _or_dash(each.needed, 6),
            _holds(each),
        ]
        for each in found
    ]
    note = (
        "Lowest cosine of a text to transformers in float32, which takes each text alone; here all texts are one "
        f"batch, asked for three times. The two texts that are most alike have a cosine of {likeness:.3f}."
    )
    return note + "\n\n" + table(["contender", "dtype", "lowest cosine", "needed", "holds"], rows)


def samenesses(found: Sequence[Sameness]) -> str:
    rows = [
        [
            each.name,
            f"{each.tokens:,}",
            str(each.sequences),
            "yes" if each.captured else "**no**",
            f"{each.difference:g}",
            _holds(each),
        ]
        for each in found
    ]
    note = "Largest difference of a value between an eager step and a replay, of a graph captured with other texts."
    return note + "\n\n" + table(["contender", "tokens", "sequences", "captured", "difference", "holds"], rows)


def _or_dash(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _holds(each: Parity | Sameness) -> str:
    return "yes" if each.holds else "**no**"


def latencies(times: Times, targets: Sequence[Target]) -> str:
    """The median and the 99th percentile of each contender, and beneath what is aimed at."""
    names = _workloads(times)
    rows = [[name, *(_middle_and_p99(own[each]) for each in names)] for name, own in times.items()]
    for target in targets:
        ms = [target.ms.get(int(each.split()[0])) for each in names]
        rows.append([f"*{target.name} ({GPU_OF_TARGETS})*", *(_or_dash(each, 2) for each in ms)])
    note = (
        "Milliseconds of one text, from ids on the host to its vector there: median (p99). Italics: not measured here."
    )
    return note + "\n\n" + table(["contender", *names], rows)


def _workloads(times: Times) -> list[str]:
    return list(next(iter(times.values()), ()))


def _middle_and_p99(values: Sequence[float]) -> str:
    return f"{median(values):.3f} ({np.percentile(values, 99):.3f})" if values else "-"


def _spread(values: Sequence[float]) -> str:
    return Spread.of(values).shown(0) if values else "-"


def throughputs(times: Times, targets: Sequence[Target]) -> str:
    names = _workloads(times)
    rows = [[name, *(_spread(own[each]) for each in names)] for name, own in times.items()]
    for target in targets:
        rows.append([f"*{target.name} ({GPU_OF_TARGETS})*", f"{target.tokens_per_s:,.0f}", *["-"] * (len(names) - 1)])
    note = "Tokens a second, pads not counted: median of the rounds (middle half of them)."
    return note + "\n\n" + table(["contender", *names], rows)


def served(found: Sequence[Served], tokens: int) -> str:
    rows = [
        [
            each.name,
            str(each.clients),
            f"{each.texts_per_s:,.0f}",
            f"{each.middle_ms:.2f}",
            f"{each.p99_ms:.2f}",
            f"{each.texts_per_batch:.1f}",
        ]
        for each in found
    ]
    note = (
        f"Each client asks for one text of {tokens} tokens after another; the engine's loop and scheduler, no network."
    )
    header = ["contender", "clients", "texts a second", "median ms", "p99 ms", "texts a batch"]
    return note + "\n\n" + table(header, rows)


def host_times(found: Sequence[HostTimes]) -> str:
    rows = [
        [
            each.name,
            f"{each.sequences} of {each.tokens:,} tokens",
            f"{1000 * each.pack:.0f}",
            f"{1000 * each.launch:.0f}",
            _or_dash(each.device, 3),
            f"{each.whole:.3f}",
        ]
        for each in found
    ]
    note = "Medians. Launch: the host's time for a step, planning of attention included. Device: on the stream."
    return note + "\n\n" + table(["contender", "texts", "pack µs", "launch µs", "device ms", "whole ms"], rows)


def layers(found: dict[str, dict[str, float]]) -> str:
    """By kind of layer, of several batches."""
    kinds = list(dict.fromkeys(kind for own in found.values() for kind in own if kind not in (REST, WHOLE)))
    rows = [[name, *(f"{own.get(kind, 0.0):.3f}" for kind in (*kinds, REST, WHOLE))] for name, own in found.items()]
    note = (
        "Milliseconds between events on the stream, of a step without a graph, by kind of layer; the host's gaps "
        "between launches are in them. Rest: what no layer of the kit does (tables, residual sums, and gaps)."
    )
    return note + "\n\n" + table(["texts", *kinds, REST, WHOLE], rows)
