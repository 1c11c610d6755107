"""A PodMonitor of the operator in Prometheus' words, judged by promtool and by what it must keep and drop."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2ekit.pod_monitor import jobs, relabelings
from e2ekit.prometheus import promtool
from monitorkit.programs import model
from trellis_operator.desired import names
from trellis_operator.desired.monitor import pod_monitor

Labels = dict[str, str]


def scraped() -> list[dict[str, Any]]:
    monitor = pod_monitor(model())
    return jobs(monitor, "/etc/kubeconfig")


def discovered(component: str, port: str, **changed: str) -> Labels:
    """What Prometheus knows of a port of a model's pod before relabeling."""
    labels = {re.sub(r"\W", "_", key): value for key, value in names.labels(model(), component).items()}
    found = {
        **{f"__meta_kubernetes_pod_label_{key}": value for key, value in labels.items()},
        "__meta_kubernetes_namespace": model().namespace,
        "__meta_kubernetes_pod_name": "pod-0",
        "__meta_kubernetes_pod_phase": "Running",
        "__meta_kubernetes_pod_container_name": component,
        "__meta_kubernetes_pod_container_port_name": port,
    }
    return found | changed


def relabelled(job: dict[str, Any], found: Labels) -> Labels | None:
    """What the rules of a job make of a target, as Prometheus documents them; None: it is dropped."""
    labels = dict(found)
    for rule in job["relabel_configs"]:
        value = ";".join(labels.get(name, "") for name in rule["source_labels"])
        matches = re.fullmatch(rule.get("regex", "(.*)"), value, re.DOTALL)
        action = rule.get("action", "replace")
        if (action == "keep" and not matches) or (action == "drop" and matches):
            return None
        if action == "replace" and matches:
            labels[rule["target_label"]] = value
    return labels


def kept(found: Labels) -> list[Labels]:
    """What all jobs of the monitor keep of a target."""
    return [labels for job in scraped() if (labels := relabelled(job, found)) is not None]


def test_prometheus_takes_what_is_made_of_a_pod_monitor(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("{}", encoding="utf-8")
    path = tmp_path / "prometheus.yml"
    found = jobs(pod_monitor(model()), str(kubeconfig))
    path.write_text(yaml.safe_dump({"scrape_configs": found}), encoding="utf-8")
    promtool("check", "config", path)


@pytest.mark.parametrize(("component", "port"), [("engine", "metrics"), ("gateway", "http"), ("download", "metrics")])
def test_each_kind_of_pod_is_scraped_once_and_named(component: str, port: str) -> None:
    [labels] = kept(discovered(component, port))
    assert labels["embedding_model"] == model().name
    assert (labels["namespace"], labels["pod"], labels["container"]) == (model().namespace, "pod-0", component)


@pytest.mark.parametrize(
    "changed",
    [
        {"__meta_kubernetes_pod_container_port_name": "grpc"},
        {"__meta_kubernetes_pod_phase": "Succeeded"},
        {"__meta_kubernetes_pod_label_app_kubernetes_io_instance": "another"},
        {"__meta_kubernetes_pod_label_app_kubernetes_io_managed_by": "somebody"},
    ],
    ids=lambda changed: next(iter(changed)).rpartition("pod_")[2],
)
def test_what_is_not_the_models_is_not_scraped(changed: Labels) -> None:
    assert not kept(discovered("engine", "metrics", **changed))


def test_pods_are_looked_for_in_the_models_namespace_alone() -> None:
    for job in scraped():
        assert [each["namespaces"] for each in job["kubernetes_sd_configs"]] == [{"names": [model().namespace]}]


def test_relabelings_are_spelled_as_prometheus_spells_them() -> None:
    given = {"sourceLabels": ["a"], "targetLabel": "b", "action": "replace", "modulus": 3}
    [made] = relabelings({"relabelings": [given]})
    assert made == {"source_labels": ["a"], "target_label": "b", "action": "replace", "modulus": 3}
