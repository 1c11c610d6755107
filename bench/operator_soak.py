"""Models that change all the time, and whether the memory of the operator stays flat: `python -m bench.operator_soak`.

`bench.soak` has the other two programs, and `local` for the operator. Here it is the one that runs in clusters, on an
API server with fake nodes. Takes ten minutes, and a cluster of its own; needs root.
"""

import argparse
import json
import sys
import time
from itertools import count as numbers

import psutil

from bench.cluster import named, tool, until
from bench.fake_cluster import ask, count, kwok_command, manifests, metrics, operator_command, prepare, running
from bench.flatness import Flatness, Sample
from bench.record import surroundings, table, write
from bench.soak import WARM_SHARE

_GROWTH_SHARE = 0.02
_SAMPLE_S = 1.0


def main() -> int:
    """Run, print the page and write it to `bench/results`; returns 1 where the operator grew."""
    parser = argparse.ArgumentParser(prog="python -m bench.operator_soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="Length of the changes (%(default)s).")
    parser.add_argument("--models", type=int, default=20, help="Models that change in turn (%(default)s).")
    options = parser.parse_args()
    named("soak")
    around = surroundings(("kopf", "kubernetes", "aiohttp"))
    try:
        tool("up", "1")
        prepare()
        with running("kwok", kwok_command()), running("operator", operator_command()) as process:
            until("the operator works", 120, lambda: metrics() != "")
            ask("create", "-f", "-", stdin=json.dumps(_list(options.models)))
            until("all serve", 600, lambda: count("Ready") >= options.models)
            samples, changes = _changed(psutil.Process(process.pid), options.seconds, options.models)
            until("all serve again", 120, lambda: count("Ready") >= options.models)
    finally:
        tool("down")
    found = Flatness.of(samples, options.seconds * WARM_SHARE, _GROWTH_SHARE)
    data = {
        "changes": changes,
        "flatness": vars(found) | {"flat": found.flat},
        "samples": [[each.seconds, each.mib] for each in samples],
    }
    title = f"Soak of the operator: {options.seconds:g} s of changes to {options.models} models"
    path = write("soak-operator", title, around, [("Memory", _page(found, changes, options))], data)
    print(path.read_text(encoding="utf-8"))
    return 0 if found.flat else 1


def _list(models: int) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "List", "items": manifests(models)}


def _changed(process: psutil.Process, seconds: float, models: int) -> tuple[list[Sample], int]:
    """Change one model after the other, and take a child of some away; the operator's memory, and how many changes."""
    samples, began, last = list[Sample](), time.monotonic(), 0.0
    for number in numbers():
        now = time.monotonic() - began
        if now >= seconds:
            return samples, number
        if not samples or now - last >= _SAMPLE_S:
            samples.append(Sample(now, process.memory_info().rss / 2**20))
            last = now
        name = f"model-{number % models}"
        replicas = {"spec": {"gateway": {"replicas": 1 + (number // models) % 2}}}
        ask("patch", "em", name, "--type=merge", "-p", json.dumps(replicas))
        if number % 5 == 0:
            ask("delete", "service", name, "--wait=false", "--ignore-not-found")
    raise AssertionError("numbers do not end")


def _page(found: Flatness, changes: int, options: argparse.Namespace) -> str:
    said = (
        f"Resident memory of `trellis_operator run`, each second, from {options.seconds * WARM_SHARE:g} s on, while "
        f"{changes:,} changes were made, each fifth of them beside a Service that was deleted. Flat: growth of at most "
        f"{_GROWTH_SHARE:.0%} of the median, or 2 MiB."
    )
    row = [f"{found.middle_mib:.1f}", f"{found.highest_mib:.1f}", f"{found.slope_mib_per_hour:+.1f}"]
    row += [f"{found.growth_mib:+.2f}", f"{found.bound_mib:.2f}", "yes" if found.flat else "NO"]
    header = ("median MiB", "highest MiB", "slope MiB/h", "growth MiB", "bound MiB", "flat")
    return f"{said}\n\n{table(header, [row])}"


if __name__ == "__main__":
    sys.exit(main())
