"""What an operator has done, by its own metrics."""

import re
import subprocess

from e2ekit.cluster import checked
from e2ekit.operator import OperatorProcess

_CALL = re.compile(
    r'trellis_operator_api_call_seconds_count\{method="(\w+)",outcome="\w+",resource="([\w/]*)"\} ([\d.]+)'
)
_VISIT = re.compile(r'trellis_operator_reconcile_seconds_count\{outcome="(\w+)"\} ([\d.]+)')

_RESTART = re.compile(r'trellis_operator_watch_restarts_total\{kind="(\w+)",why="(\w+)"\} ([\d.]+)')


def metrics(operator: OperatorProcess) -> str:
    """The text of /metrics."""
    return checked([*operator.cluster.enter, "curl", "-s", f"http://127.0.0.1:{operator.ports[1]}/metrics"], 10)


def is_up(operator: OperatorProcess) -> bool:
    """Whether it answers."""
    command = [*operator.cluster.enter, "curl", "-sf", f"http://127.0.0.1:{operator.ports[0]}/healthz"]
    return subprocess.run(command, capture_output=True, timeout=10, check=False).returncode == 0


def calls(operator: OperatorProcess) -> dict[tuple[str, str], int]:
    """Calls to the API server by method and resource, without those of the Lease."""
    counted: dict[tuple[str, str], int] = {}
    for method, resource, count in _CALL.findall(metrics(operator)):
        if resource != "leases":
            counted[method, resource] = counted.get((method, resource), 0) + int(float(count))
    return counted


def writes(operator: OperatorProcess) -> int:
    """How many of them were no reads."""
    return sum(count for (method, _), count in calls(operator).items() if method != "GET")


def restarts(operator: OperatorProcess, why: str) -> int:
    """Watches that were begun again for this reason."""
    return sum(int(float(count)) for _, given, count in _RESTART.findall(metrics(operator)) if given == why)


def visits(operator: OperatorProcess) -> dict[str, int]:
    """Visits by outcome."""
    return {outcome: int(float(count)) for outcome, count in _VISIT.findall(metrics(operator))}
