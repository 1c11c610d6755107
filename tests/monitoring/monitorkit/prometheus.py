"""The real Prometheus and promtool, of the Debian package or of wherever PATH has them."""

import json
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from roadkit.program import free_ports
from roadkit.waiting import until
from trellis_operator.desired.monitor import pod_monitor
from trellis_operator.spec import EmbeddingModel

_ASK_S = 10.0
_READY_S = 60.0


def program(name: str) -> str:
    """The path of a program of the package; fails, and does not skip, where it is not there."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not on this machine (Debian: apt-get install prometheus)", pytrace=False)
    return found


def promtool(*arguments: str | Path) -> str:
    """What promtool prints; fails with it where promtool does."""
    command = [program("promtool"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Target:
    """What is scraped: an address, and the labels that the cluster would know of it."""

    address: str
    labels: Mapping[str, str]


def scrape_config(model: EmbeddingModel, pods: Sequence[Target], others: Sequence[Target]) -> dict[str, Any]:
    """A configuration that treats pods of a model as its PodMonitor says, in Prometheus' own words."""
    endpoint = pod_monitor(model)["spec"]["podMetricsEndpoints"][0]
    relabelings = [
        {"source_labels": each["sourceLabels"], "target_label": each["targetLabel"]} for each in endpoint["relabelings"]
    ]
    return {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "scrape_configs": [
            {
                "job_name": "pods",
                "metrics_path": endpoint["path"],
                "static_configs": _static(pods),
                "relabel_configs": relabelings,
            },
            {"job_name": "others", "static_configs": _static(others)},
        ],
    }


def _static(targets: Sequence[Target]) -> list[dict[str, Any]]:
    return [{"targets": [target.address], "labels": dict(target.labels)} for target in targets]


@dataclass(frozen=True)
class Prometheus:
    """A running one."""

    url: str

    def ask(self, path: str, **parameters: str) -> Any:
        """The `data` of an answer; fails with what Prometheus says of a query that it cannot read."""
        query = urllib.parse.urlencode(parameters)
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{query}", timeout=_ASK_S) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code >= 500:  # it starts
                raise
            raise AssertionError(f"{parameters}: {error.read().decode()}") from None

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of an expression, as of now."""
        found: list[dict[str, Any]] = self.ask("query", query=expression)["result"]
        return found

    def up(self) -> dict[str, str]:
        """How the last scrape of each target went."""
        return {each["scrapeUrl"]: each["health"] for each in self.ask("targets")["activeTargets"]}


@contextmanager
def running(folder: Path, config: dict[str, Any]) -> Iterator[Prometheus]:
    """A Prometheus with this configuration, while inside."""
    [port] = free_ports(1)
    path = folder / "prometheus.yml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    promtool("check", "config", path)
    command = [
        program("prometheus"),
        f"--config.file={path}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    log = folder / "prometheus.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    prometheus = Prometheus(f"http://127.0.0.1:{port}")

    def scrapes() -> bool:
        assert process.poll() is None, log.read_text(encoding="utf-8")
        try:
            health = prometheus.up().values()
        except OSError:
            return False
        return set(health) == {"up"}

    try:
        until(scrapes, f"Prometheus has scraped every target; {log}", _READY_S)
        yield prometheus
    finally:
        process.terminate()
        process.wait(20)
