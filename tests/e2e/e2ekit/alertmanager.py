"""The real Alertmanager, in the network that `enter` leads into: what Prometheus sends it is read back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from e2ekit.ports import free_ports
from e2ekit.server import Server, program, serving

Alert = dict[str, Any]


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
def alertmanager(folder: Path, enter: Sequence[str] = (), webhook: str | None = None) -> Iterator[Alertmanager]:
    """An Alertmanager, while inside; it passes each alert on by itself and at once.

    Args:
        folder: gets its data and its log.
        enter: what precedes a command in its network, as `Cluster.enter`.
        webhook: the address that is told of alerts; None: nobody is, they wait to be read.
    """
    [port] = free_ports(1)
    path = folder / "alertmanager.yml"
    path.write_text(yaml.safe_dump(_config(webhook)), encoding="utf-8")
    command = [
        program("prometheus-alertmanager", "prometheus-alertmanager"),
        f"--config.file={path}",
        f"--storage.path={folder / 'alertmanager'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    ]
    with serving(command, f"http://127.0.0.1:{port}", folder / "alertmanager.log", enter) as server:
        yield Alertmanager(server)


def _config(webhook: str | None) -> dict[str, Any]:
    receiver: dict[str, Any] = {"name": "on-call"}
    if webhook is not None:
        receiver["webhook_configs"] = [{"url": webhook, "send_resolved": False}]
    at_once = {"group_wait": "0s", "group_interval": "1s", "repeat_interval": "1h"}
    return {"route": {"receiver": "on-call", "group_by": ["..."], **at_once}, "receivers": [receiver]}
