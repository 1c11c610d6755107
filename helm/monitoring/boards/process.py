"""The row that every program's dashboard ends with: memory, processor, files, restarts."""

from helm.monitoring.dashboard import Row
from helm.monitoring.panel import Panel
from helm.monitoring.query import WINDOW, Query, Scope


def process_row(scope: Scope, own: str) -> Row:
    """Of the pods that have the series `own`."""
    among = f"and on (namespace, pod) {scope.series(own)}"
    return Row(
        "Process",
        (
            Panel(
                "Memory",
                "Resident. Grows for hours without end: a leak.",
                (Query(f"{scope.series('process_resident_memory_bytes')} {among}", "{{pod}}"),),
                "bytes",
                width=6,
            ),
            Panel(
                "Processor",
                "Cores used.",
                (Query(f"rate({scope.series('process_cpu_seconds_total')}[{WINDOW}]) {among}", "{{pod}}"),),
                width=6,
            ),
            Panel(
                "Open files",
                "Share of what the process may open: connections, mostly.",
                (
                    Query(
                        f"{scope.series('process_open_fds')} / {scope.series('process_max_fds')} {among}",
                        "{{pod}}",
                    ),
                ),
                "percentunit",
                limits=(0.7, 0.9),
                width=6,
            ),
            Panel(
                "Age",
                "Since the process began. Falls to zero: a restart.",
                (Query(f"time() - {scope.series('process_start_time_seconds')} {among}", "{{pod}}"),),
                "s",
                width=6,
            ),
        ),
    )
