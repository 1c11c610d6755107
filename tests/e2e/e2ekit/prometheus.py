"""The real Prometheus, in the network that `enter` leads into: configured, started, asked."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import yaml
from e2ekit.server import Server, program, serving
from e2ekit.waiting import until
from roadkit.ports import free_ports

_PACKAGE = "prometheus"
_CHECK_S = 60.0
_UP_S = 60.0


def promtool(*arguments: str | Path) -> str:
    """What promtool prints; fails with it where promtool does."""
    command = [program("promtool", _PACKAGE), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_CHECK_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Prometheus:
    """A running one."""

    server: Server

    @property
    def url(self) -> str:
        """As it is reached in its network."""
        return self.server.url

    def ask(self, path: str, **parameters: str) -> Any:
        """The `data` of an answer of its API; fails with what Prometheus says of a query that it cannot read."""
        answer = self.server.json(f"/api/v1/{path}", **parameters)
        assert answer["status"] == "success", f"{parameters}: {answer}"
        return answer["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an expression, as of now."""
        found: list[dict[str, Any]] = self.ask("query", query=expression)["result"]
        return found

    def are_some(self, expressions: Sequence[str]) -> list[bool]:
        """Whether each expression has a series now."""
        asked = [f"/api/v1/query?{urlencode({'query': each})}" for each in expressions]
        return [bool(answer["data"]["result"]) for answer in self.server.jsons(asked)]

    def up(self) -> dict[str, str]:
        """How the last scrape of each target went: `up`, `down`, or `unknown` before the first."""
        return {each["scrapeUrl"]: each["health"] for each in self.ask("targets")["activeTargets"]}

    def wait_up(self, targets: int = 1, timeout_s: float = _UP_S) -> None:
        """Wait until there are so many targets at least, and all of them are up."""

        def all_up() -> bool:
            health = self.up().values()
            return len(health) >= targets and set(health) == {"up"}

        until(all_up, f"Prometheus has scraped every target, {targets} at least; {self.server.log}", timeout_s)


@contextmanager
def running(
    folder: Path, config: dict[str, Any], enter: Sequence[str] = (), host: str = "127.0.0.1"
) -> Iterator[Prometheus]:
    """A Prometheus, while inside; its data and log are in `folder`.

    Args:
        folder: empty, and its own.
        config: as `prometheus.yml` has it.
        enter: what precedes a command in its network, as `Cluster.enter`.
        host: where it listens: pods reach an address of their node.
    """
    [port] = free_ports(1)
    path = folder / "prometheus.yml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    promtool("check", "config", path)
    command = [
        program("prometheus", _PACKAGE),
        f"--config.file={path}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={host}:{port}",
    ]
    with serving(command, f"http://{host}:{port}", folder / "prometheus.log", enter) as server:
        yield Prometheus(server)
