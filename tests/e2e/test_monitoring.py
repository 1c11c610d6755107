"""A real Prometheus that scrapes a cluster through the PodMonitors which the operator wrote, and what it tells on call.

Three models: `m` serves, `n` finds no room for its engine, and the download of `d` stalls. The chart's rules run in
fast motion (`monitorkit.shortened`). Prometheus is a process in the cluster's network, as its DNS is, and no pod: what
policies would let a pod of it read is judged from the policies, which this cluster takes and does not enforce.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from e2ekit.alertmanager import Alertmanager, alertmanager
from e2ekit.client import Client
from e2ekit.cluster import Cluster
from e2ekit.discovery import discovering
from e2ekit.hub import Hub, source
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl, Manifest, RefusedError
from e2ekit.models import ACCELERATOR, manifest, wait_settled
from e2ekit.namespaces import make_namespace, remove_namespace
from e2ekit.operator import OperatorProcess
from e2ekit.optional_kinds import POD_MONITOR, optional_kinds
from e2ekit.pod_monitor import jobs
from e2ekit.policy import Peer, admits
from e2ekit.prometheus import Prometheus, running
from e2ekit.volumes import volume
from e2ekit.waiting import until
from monitorkit.boards import choices, filled
from monitorkit.proved import ON_A_CLUSTER, WITHOUT_AN_API_SERVER, WITHOUT_AN_OPERATOR
from monitorkit.rules import fast_rules

from helm.monitoring.pages import DASHBOARDS

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

FACTOR = 40
KEY = "a-key-for-tests-only"
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys"}, "stringData": {"team": KEY}}
# A model whose Secret must be read is a model that the operator cannot visit without the API server.
GATEWAY = {"apiKeysSecretRef": {"name": "keys"}}
PROMETHEUS = Peer("monitoring", {"app.kubernetes.io/name": "prometheus"})
STRANGER = Peer("monitoring", {"app.kubernetes.io/name": "web"})
_WEIGHTS = "/cdn/"
_ALERT_S = 120.0


@dataclass(frozen=True)
class Watched:
    """The models' namespace, and who watches."""

    kubectl: Kubectl
    client: Client
    operator: OperatorProcess
    prometheus: Prometheus
    alertmanager: Alertmanager

    def scraped(self) -> list[dict[str, str]]:
        """Labels of every target that is up."""
        return [each["metric"] for each in self.prometheus.query("up == 1")]

    def fires(self, alert: str, model: str) -> bool:
        """Whether Alertmanager has an alert of a model; of the operator where it is empty."""
        found = [each["labels"] for each in self.alertmanager.alerts()]
        return any(each["alertname"] == alert and each.get("embedding_model", "") == model for each in found)


@pytest.fixture(scope="module")
def watched(cluster: Cluster, images: Images, crd: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """All of it, once for the tests of this file."""
    folder = tmp_path_factory.mktemp("watched")
    kubectl = make_namespace(cluster, "watched")
    operator = OperatorProcess(cluster, images, kubectl.namespace, folder / "operator.log")
    with ExitStack() as stack:
        stack.callback(remove_namespace, kubectl)
        stack.enter_context(optional_kinds(kubectl, POD_MONITOR))
        client = Client(kubectl, images.gateway)
        hub = Hub(kubectl, client, images.operator)
        operator.flags = ("--resync-seconds", "5", "--no-leader-election", "--fetch-env", f"HF_ENDPOINT={hub.url}")
        stack.callback(operator.stop)
        operator.start()
        claim = stack.enter_context(volume(kubectl)).claim
        kubectl.apply(SECRET, manifest("m", gateway=GATEWAY), _without_room())
        until(hub.answers, "the hub serves")
        hub.fail({"path": _WEIGHTS, "times": 1000, "after": 1_000_000, "stall_s": 300})
        kubectl.apply(manifest("d", model=source(), gateway=GATEWAY, cache={"persistentVolumeClaim": claim}))
        wait_settled(kubectl, "m")
        until(lambda: hub.asked(_WEIGHTS), "the download is under way", 90)
        until(lambda: _ask(client, kubectl.namespace) == 200, "the gateway is reached", 30)
        manager = stack.enter_context(alertmanager(folder, cluster.enter))
        pods = stack.enter_context(discovering(kubectl, folder))
        config = _config(kubectl, pods, operator, manager, folder)
        prometheus = stack.enter_context(running(folder, config, cluster.enter))
        prometheus.wait_up(5)
        yield Watched(kubectl, client, operator, prometheus, manager)


def _without_room() -> Manifest:
    limits = {ACCELERATOR: "1", "cpu": "1", "memory": "1Gi"}
    return manifest("n", gateway=GATEWAY, engine={"resources": {"limits": limits}})


def _config(
    kubectl: Kubectl, pods: Path, operator: OperatorProcess, manager: Alertmanager, folder: Path
) -> dict[str, Any]:
    """What Prometheus is told: the PodMonitors' own words, and where the operator is, which here is a process."""
    until(lambda: len(kubectl.all("podmonitors")) == 3, "each model has a PodMonitor")
    labels = {"namespace": "trellis-system", "pod": "operator-0"}
    static = [{"targets": [f"127.0.0.1:{operator.ports[1]}"], "labels": labels}]
    return {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [
            *(job for monitor in kubectl.all("podmonitors") for job in jobs(monitor, pods)),
            {"job_name": "operator", "static_configs": static},
        ],
        "rule_files": [str(fast_rules(folder, FACTOR))],
        "alerting": {"alertmanagers": [manager.target]},
    }


def test_every_pod_of_a_model_is_scraped_through_its_pod_monitor(watched: Watched) -> None:
    found = {(each.get("embedding_model", ""), each.get("container", "")) for each in watched.scraped()}
    assert found == {("m", "engine"), ("m", "gateway"), ("n", "gateway"), ("d", "fetch"), ("", "")}
    pods = {pod["metadata"]["name"] for pod in watched.kubectl.all("pods", {"app.kubernetes.io/managed-by": "trellis"})}
    assert {each["pod"] for each in watched.scraped()} - {"operator-0"} <= pods


def test_every_panel_of_every_dashboard_has_data(watched: Watched) -> None:
    chosen = {page.name: choices(watched.prometheus, page) for page in DASHBOARDS}
    asked = [
        (f"{page.title}, {panel.title}", filled(query.expression, chosen[page.name]))
        for page in DASHBOARDS
        for panel in page.panels
        for query in panel.queries
    ]

    def without_data() -> list[str]:
        assert _ask(watched.client, watched.kubectl.namespace) == 200
        some = watched.prometheus.are_some([expression for _, expression in asked])
        return [title for (title, _), found in zip(asked, some, strict=True) if not found]

    try:
        until(lambda: not without_data(), "every panel has data", 90)
    except AssertionError as error:
        raise AssertionError(f"{error}; without: {without_data()}") from None


def test_policies_let_prometheus_read_what_it_scrapes_and_nobody_else_read_engines(watched: Watched) -> None:
    policies = watched.kubectl.all("networkpolicies")
    pods = {pod["metadata"]["name"]: pod for pod in watched.kubectl.all("pods")}
    assert {each["metadata"]["name"] for each in policies} == {"m-engine", "n-engine", "d-engine"}
    for target in watched.scraped():
        if target["pod"] in pods:
            pod, port = Peer.of(pods[target["pod"]]), int(target["instance"].rpartition(":")[2])
            assert admits(policies, PROMETHEUS, pod, port), target
            assert admits(policies, STRANGER, pod, port) is not (target["container"] == "engine"), target


def test_real_faults_of_a_cluster_reach_alertmanager(watched: Watched, cluster: Cluster) -> None:
    if not cluster.own:
        pytest.skip("stops the API server: only on a cluster of our own")
    [engine] = [each["pod"] for each in watched.scraped() if each.get("container") == "engine"]
    for number in range(1, 4):
        _end_once(watched, engine, number)
    _wait(watched, ON_A_CLUSTER)
    cluster.tool("stop", "kube-apiserver")
    try:
        _wait(watched, WITHOUT_AN_API_SERVER)
        watched.operator.stop()
        _wait(watched, WITHOUT_AN_OPERATOR)
    finally:
        cluster.tool("start", "kube-apiserver")
        until(lambda: _answers(watched.kubectl), "the API server is back", 60)


def _ask(client: Client, namespace: str) -> int:
    """One request of a caller with a key; its status, 0 while the node's proxy does not know the gateway."""
    url, body = f"http://m.{namespace}.svc/v1/embeddings", {"model": "m", "input": "hello"}
    return client.request("POST", url, body, {"authorization": f"Bearer {KEY}"}).status


def _end_once(watched: Watched, pod: str, number: int) -> None:
    """End the process of a pod for the `number`th time, and wait until Prometheus has scraped the next one."""
    end = "import os, signal; os.kill(1, signal.SIGTERM)"
    watched.kubectl.run("exec", pod, "--", "python", "-c", end)
    begun = f'changes(process_start_time_seconds{{pod="{pod}"}}[5m]) >= {number}'
    until(lambda: watched.prometheus.query(begun), f"the engine began again, {number} times", 90)


def _wait(watched: Watched, expected: Mapping[str, set[str]]) -> None:
    """Until Alertmanager has every alert of every model."""
    for model, alerts in expected.items():
        for alert in alerts:
            until(lambda alert=alert, model=model: watched.fires(alert, model), f"{alert} of {model!r}", _ALERT_S)


def _answers(kubectl: Kubectl) -> bool:
    try:
        kubectl.run("get", "namespace", "default", timeout_s=10)
    except RefusedError:
        return False
    return True
