"""The real Alertmanager, in the network that `enter` leads into: what Prometheus sends it is read back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from e2ekit.server import Server, program, serving
from roadkit.ports import free_ports

Alert = dict[str, Any]

_CONFIG = {"route": {"receiver": "on-call"}, "receivers": [{"name": "on-call"}]}


@dataclass(frozen=True)
class Alertmanager:
    """A running one."""

    server: Server

    @property
    def target(self) -> dict[str, Any]:
        """For `alerting.alertmanagers` of a Prometheus in the same network."""
        return {"static_configs": [{"targets": [self.server.url.removeprefix("http://")]}]}

    def alerts(self) -> list[Alert]:
        """Those that fire now, with labels and annotations."""
        found: list[Alert] = self.server.json("/api/v2/alerts", active="true")
        return found


@contextmanager
def alertmanager(folder: Path, enter: Sequence[str] = ()) -> Iterator[Alertmanager]:
    """An Alertmanager, while inside; nobody is told by it, what it was sent waits to be read.

    Args:
        folder: gets its data and its log.
        enter: what precedes a command in its network, as `Cluster.enter`.
    """
    [port] = free_ports(1)
    path = folder / "alertmanager.yml"
    path.write_text(yaml.safe_dump(_CONFIG), encoding="utf-8")
    command = [
        program("prometheus-alertmanager", "prometheus-alertmanager"),
        f"--config.file={path}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    with serving(command, f"http://127.0.0.1:{port}", folder / "alertmanager.log", enter) as server:
        yield Alertmanager(server)
