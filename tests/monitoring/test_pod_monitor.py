"""A PodMonitor of the operator in Prometheus' words, judged by promtool and by what it must keep and drop."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2ekit.discovery import groups
from e2ekit.pod_monitor import jobs, relabelings
from e2ekit.prometheus import promtool
from monitorkit.programs import model
from monitorkit.recorded import recorded
from trellis_operator.desired import names
from trellis_operator.desired.monitor import MODEL_LABEL, pod_monitor

from helm.monitoring.exported import families

Labels = dict[str, str]


PORTS = {"engine": ("metrics", 9101), "gateway": ("http", 8080), "fetch": ("metrics", 9101)}
PODS = Path("pods.json")


def scraped() -> list[dict[str, Any]]:
    return jobs(pod_monitor(model()), PODS)


def pod(container: str, **changed: Any) -> dict[str, Any]:
    """A pod of the model as an API server has it; the download's container is named `fetch`."""
    port, number = PORTS[container]
    component = "download" if container == "fetch" else container
    labels = names.labels(model(), component) | changed.pop("labels", {})
    ports = [{"name": changed.pop("port", port), "containerPort": number}]
    return {
        "metadata": {"name": "pod-0", "namespace": changed.pop("namespace", model().namespace), "labels": labels},
        "spec": {"containers": [{"name": container, "ports": ports}]},
        "status": {"podIP": "10.0.0.1", "phase": "Running", **changed},
    }


def relabelled(job: dict[str, Any], found: Labels) -> Labels | None:
    """What the rules of a job make of a target, as Prometheus documents them; None: it is dropped."""
    labels = dict(found)
    for rule in job["relabel_configs"]:
        value = ";".join(labels.get(name, "") for name in rule.get("source_labels", ()))
        matches = re.fullmatch(rule.get("regex", "(.*)"), value, re.DOTALL)
        action = rule.get("action", "replace")
        if (action == "keep" and not matches) or (action == "drop" and matches):
            return None
        if action == "replace" and matches:
            labels[rule["target_label"]] = rule.get("replacement", value).replace("$1", value)
        if action == "hashmod":
            # Of one shard all are the first one's.
            assert rule["modulus"] == 1
            labels[rule["target_label"]] = "0"
    return labels


def kept(*pods: dict[str, Any], by: list[dict[str, Any]] | None = None) -> list[Labels]:
    """What all jobs of the monitor keep of what is discovered; `by`: other jobs than ours."""
    found = [group["labels"] | {"__address__": group["targets"][0]} for group in groups(pods)]
    return [labels for job in by or scraped() for each in found if (labels := relabelled(job, each)) is not None]


def by_prometheus_operator() -> list[dict[str, Any]]:
    """The jobs that it made of the PodMonitor."""
    return recorded(model().namespace, model().name, PODS)


def test_prometheus_takes_what_is_made_of_a_pod_monitor(tmp_path: Path) -> None:
    pods, path = tmp_path / "pods.json", tmp_path / "prometheus.yml"
    pods.write_text(json.dumps(groups([pod("engine")])), encoding="utf-8")
    made = [*jobs(pod_monitor(model()), pods), *recorded("elsewhere", "another", pods)]
    path.write_text(yaml.safe_dump({"scrape_configs": made}), encoding="utf-8")
    promtool("check", "config", path)


@pytest.mark.parametrize("container", PORTS)
def test_each_kind_of_pod_is_scraped_once_and_named(container: str) -> None:
    [labels] = kept(pod(container))
    assert labels["__address__"] == f"10.0.0.1:{PORTS[container][1]}"
    assert labels["embedding_model"] == model().name
    assert (labels["namespace"], labels["pod"], labels["container"]) == (model().namespace, "pod-0", container)


OTHERS: list[dict[str, Any]] = [
    {"port": "grpc"},
    {"phase": "Succeeded"},
    {"podIP": ""},
    {"namespace": "elsewhere"},
    {"labels": {names.INSTANCE: "another"}},
    {"labels": {names.MANAGED_BY: "somebody"}},
]


@pytest.mark.parametrize("container", PORTS)
def test_the_operator_of_prometheus_scrapes_the_same_pods_by_the_same_names(container: str) -> None:
    jobs = by_prometheus_operator()
    [ours], [its] = kept(pod(container)), kept(pod(container), by=jobs)
    assert ours.items() <= its.items()
    assert {each["metrics_path"] for each in jobs} == {each["metrics_path"] for each in scraped()}
    for changed in OTHERS:
        # Whose pods it asks the API server for is no rule but a setting of its discovery, which `recorded` checks.
        if "namespace" not in changed:
            assert not kept(pod(container, **changed), by=jobs), changed


def test_what_it_made_is_of_the_pod_monitor_as_it_is_now() -> None:
    endpoints = pod_monitor(model())["spec"]["podMetricsEndpoints"]
    for job, endpoint in zip(by_prometheus_operator(), endpoints, strict=True):
        assert [{"action": "replace"} | each for each in relabelings(endpoint)] == [
            rule for rule in job["relabel_configs"] if rule.get("target_label") == "embedding_model"
        ]
        assert endpoint["port"] in {rule.get("regex") for rule in job["relabel_configs"]}
        # Of a field more the record would know nothing.
        assert endpoint.keys() == {"port", "path", "relabelings"}


def test_what_was_made_for_one_model_is_told_of_another() -> None:
    its = recorded("elsewhere", "another", PODS)
    assert not kept(pod("engine"), by=its)
    [labels] = kept(pod("engine", namespace="elsewhere", labels={names.INSTANCE: "another"}), by=its)
    assert (labels["job"], labels["embedding_model"]) == ("elsewhere/another", "another")


def test_no_metric_has_a_label_that_the_operator_of_prometheus_gives_targets() -> None:
    """Where both have one of a name, Prometheus keeps the target's: all engines would be one line."""
    rules = [rule for job in by_prometheus_operator() for rule in job["relabel_configs"]]
    given = {rule["target_label"] for rule in rules if "target_label" in rule} | {"instance", "service"}
    assert given >= {"namespace", "pod", "endpoint", MODEL_LABEL}
    assert [(family.name, label) for family in families() for label in family.labels if label in given] == []


@pytest.mark.parametrize("changed", OTHERS, ids=str)
def test_what_is_not_the_models_is_not_scraped(changed: dict[str, Any]) -> None:
    assert kept(pod("engine"))
    assert not kept(pod("engine", **changed))


def test_relabelings_are_spelled_as_prometheus_spells_them() -> None:
    given = {"sourceLabels": ["a"], "targetLabel": "b", "action": "replace", "modulus": 3}
    [made] = relabelings({"relabelings": [given]})
    assert made == {"source_labels": ["a"], "target_label": "b", "action": "replace", "modulus": 3}
