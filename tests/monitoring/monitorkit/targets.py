"""What Prometheus is told of processes on this machine: they are scraped as pods of a model are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from e2ekit.pod_monitor import relabelings
from trellis_operator.desired.monitor import pod_monitor
from trellis_operator.spec import EmbeddingModel


@dataclass(frozen=True)
class Target:
    """What is scraped: an address, and the labels that the cluster would know of it."""

    address: str
    labels: Mapping[str, str]


def scrape_config(model: EmbeddingModel, pods: Sequence[Target], others: Sequence[Target]) -> dict[str, Any]:
    """A configuration that treats pods of a model as its PodMonitor says, in Prometheus' own words."""
    endpoint = pod_monitor(model)["spec"]["podMetricsEndpoints"][0]
    return {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "scrape_configs": [
            {
                "job_name": "pods",
                "metrics_path": endpoint["path"],
                "static_configs": _static(pods),
                "relabel_configs": relabelings(endpoint),
            },
            {"job_name": "others", "static_configs": _static(others)},
        ],
    }


def _static(targets: Sequence[Target]) -> list[dict[str, Any]]:
    return [{"targets": [target.address], "labels": dict(target.labels)} for target in targets]
