"""Many EmbeddingModels at once on fake nodes: `python -m bench.operator_scale`.

On a cluster of its own (tests/cluster), with kwok in the place of kubelets: what is measured is the operator and the
API server. Needs root, and the two cores for itself.
"""

import argparse
import json
import os
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.cluster import TOOL, named, tool, until
from bench.fake_cluster import (
    NAMESPACE,
    ask,
    count,
    kwok_command,
    manifest,
    manifests,
    metrics,
    operator_command,
    prepare,
    running,
)
from bench.record import surroundings, table, write

GOAL_S, GOAL_MB, GOAL_READS = 60.0, 200.0, 3
_CALLS = re.compile(
    r'trellis_operator_api_call_seconds_count\{method="(\w+)",outcome="\w+",resource="([\w/]*)"\} ([\d.]+)'
)
_VISITS = re.compile(r'trellis_operator_reconcile_seconds_count\{outcome="(\w+)"\} ([\d.]+)')


@dataclass(frozen=True)
class Counted:
    """What the operator has done until now, without its Lease.

    Attributes:
        reads: GET calls, of which `lists` are of informers and discovery.
        writes: all other calls.
        visits: by outcome.
        cpu_s: of the process.
        peak_mb: resident at most.
    """

    reads: int
    writes: int
    visits: dict[str, int]
    cpu_s: float
    peak_mb: float


def main() -> None:
    """Measure, and leave a record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=200, help="how many (%(default)s)")
    models = parser.parse_args().models
    named("scale")
    around = surroundings(("kopf", "kubernetes", "aiohttp"))
    try:
        tool("up", "1")
        prepare()
        with running("kwok", kwok_command()), running("operator", operator_command()) as operator:
            until("the operator works", 60, lambda: metrics() != "")
            measured = _measure(models, operator)
    finally:
        tool("down")
    path = write("operator-scale", "The operator and many models at once", around, _sections(measured), measured)
    print(path.read_text(encoding="utf-8"))


def _measure(models: int, operator: "subprocess.Popen[bytes]") -> dict[str, Any]:
    alone = _one_alone(operator)
    before = _counted(operator)
    started = time.monotonic()
    creating = subprocess.Popen(
        [TOOL, "run", "kubectl", "create", "-n", NAMESPACE, "-f", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    creating.communicate(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests(models)}).encode())
    created_s = time.monotonic() - started
    until("all are reconciled", 600, lambda: count("Accepted") >= models + 1)
    reconciled_s = time.monotonic() - started
    until("all serve", 600, lambda: count("Ready") >= models + 1)
    ready_s = time.monotonic() - started
    _settle(operator)
    after = _counted(operator)
    rest = _at_rest(operator, 70.0)
    return {
        "models": models,
        "created_s": created_s,
        "reconciled_s": reconciled_s,
        "ready_s": ready_s,
        "writes_per_model": (after.writes - before.writes) / models,
        "reads_per_model": (after.reads - before.reads) / models,
        "cpu_s": after.cpu_s - before.cpu_s,
        "peak_mb": after.peak_mb,
        "at_rest": rest,
        "one_change_alone": alone,
        "one_change_among_all": _one_change(operator),
    }


def _one_alone(operator: "subprocess.Popen[bytes]") -> dict[str, float]:
    ask("create", "-f", "-", stdin=json.dumps(manifest("first")))
    until("the first serves", 120, lambda: count("Ready") >= 1)
    _settle(operator)
    return _one_change(operator)


def _one_change(operator: "subprocess.Popen[bytes]") -> dict[str, float]:
    """What a change of one model costs, until all is still again."""
    before, started = _counted(operator), time.monotonic()
    ask("patch", "em", "first", "--type=merge", "-p", json.dumps({"spec": {"gateway": _next_replicas()}}))
    generation = _generation()
    until("the change is seen", 60, lambda: _observed_generation() == generation)
    seconds = time.monotonic() - started
    _settle(operator)
    after = _counted(operator)
    return {
        "seconds": seconds,
        "reads": after.reads - before.reads,
        "writes": after.writes - before.writes,
        "visits": sum(after.visits.values()) - sum(before.visits.values()),
        "cpu_s": after.cpu_s - before.cpu_s,
    }


def _at_rest(operator: "subprocess.Popen[bytes]", seconds: float) -> dict[str, float]:
    """Each model is visited once in that time, whatever was told."""
    before = _counted(operator)
    time.sleep(seconds)
    after = _counted(operator)
    visits = sum(after.visits.values()) - sum(before.visits.values())
    return {
        "seconds": seconds,
        "visits": visits,
        "reads": after.reads - before.reads,
        "writes": after.writes - before.writes,
        "cpu_s": after.cpu_s - before.cpu_s,
    }


def _settle(operator: "subprocess.Popen[bytes]") -> None:
    """Wait until no write came for five seconds."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < 5:
        writes = _counted(operator).writes
        if writes != last:
            last, since = writes, time.monotonic()
        time.sleep(0.5)


def _counted(operator: "subprocess.Popen[bytes]") -> Counted:
    text = metrics()
    calls = [(method, what, float(count)) for method, what, count in _CALLS.findall(text) if what != "leases"]
    status = Path(f"/proc/{operator.pid}/status").read_text()
    ticks = Path(f"/proc/{operator.pid}/stat").read_text().rpartition(")")[2].split()
    return Counted(
        reads=int(sum(count for method, _, count in calls if method == "GET")),
        writes=int(sum(count for method, _, count in calls if method != "GET")),
        visits={outcome: int(float(count)) for outcome, count in _VISITS.findall(text)},
        cpu_s=(int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK"),
        peak_mb=int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1000,
    )


def _next_replicas() -> dict[str, int]:
    now = int(ask("get", "em", "first", "-o", "jsonpath={.spec.gateway.replicas}"))
    return {"replicas": now % 2 + 1}


def _generation() -> str:
    return ask("get", "em", "first", "-o", "jsonpath={.metadata.generation}")


def _observed_generation() -> str:
    return ask("get", "em", "first", "-o", "jsonpath={.status.observedGeneration}")


def _sections(measured: dict[str, Any]) -> list[tuple[str, str]]:
    models, rest = measured["models"], measured["at_rest"]
    visits = max(1, rest["visits"])
    rows = [
        [f"{models} models created", f"{measured['created_s']:.1f} s", ""],
        [f"all {models} reconciled: every object applied", f"{measured['reconciled_s']:.1f} s", f"{GOAL_S:.0f} s"],
        [f"all {models} Ready, by status", f"{measured['ready_s']:.1f} s", ""],
        ["CPU of the operator until then", f"{measured['cpu_s']:.1f} s", ""],
        ["memory of the operator at most", f"{measured['peak_mb']:.0f} MB", f"{GOAL_MB:.0f} MB"],
        ["writes a model (children, status, events)", f"{measured['writes_per_model']:.1f}", ""],
        ["reads a model", f"{measured['reads_per_model']:.1f}", ""],
        [f"writes at rest in {rest['seconds']:.0f} s", f"{rest['writes']:.0f}", "0"],
        ["visits in that time", f"{rest['visits']:.0f}", ""],
        ["reads a visit at rest", f"{rest['reads'] / visits:.2f}", f"{GOAL_READS}"],
        ["CPU a visit at rest", f"{1000 * rest['cpu_s'] / visits:.1f} ms", ""],
    ]
    changes = [
        [name, f"{cost['seconds']:.2f} s", *(f"{cost[part]:.0f}" for part in ("visits", "reads", "writes"))]
        for name, cost in (
            ("the only model", measured["one_change_alone"]),
            (f"one of {models + 1}", measured["one_change_among_all"]),
        )
    ]
    return [
        ("At once", table(["", "measured", "goal"], rows)),
        ("A single change", table(["of", "until observed", "visits", "reads", "writes"], changes)),
    ]


if __name__ == "__main__":
    main()
