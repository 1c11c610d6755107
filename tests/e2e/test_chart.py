"""The chart on a real cluster: installed, upgraded, rolled back, uninstalled, and what becomes of the models meanwhile.

Each test installs into a namespace of its own that takes only `restricted` pods, under a name of its own.
"""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2ekit.client import Client
from e2ekit.cluster import Cluster
from e2ekit.helm import CHART, ROOT, Helm
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl
from e2ekit.models import children, manifest, templates, wait_for, wait_settled
from e2ekit.namespaces import make_namespace, remove_namespace
from e2ekit.previous import previous_files, previous_operator
from e2ekit.waiting import until

pytestmark = pytest.mark.cluster
CRD = "embeddingmodels.trellis.dev"


@dataclass
class Release:
    """One installation of a chart, which looks after one namespace unless it is told otherwise.

    Attributes:
        operator: an image in place of today's.
    """

    name: str
    helm: Helm
    kubectl: Kubectl
    images: Images
    models: str
    operator: str = ""

    @property
    def deployment(self) -> str:
        return f"{self.name}-trellis"

    def install(self, chart: Path = CHART, **values: Any) -> str:
        return self._put("install", chart, values)

    def upgrade(self, chart: Path = CHART, **values: Any) -> str:
        return self._put("upgrade", chart, values)

    def rollback(self, revision: int) -> None:
        self.helm.run("rollback", self.name, str(revision), *self._where(), "--wait", "--timeout", "120s")

    def uninstall(self) -> str:
        return self.helm.run("uninstall", self.name, *self._where(), "--wait", "--ignore-not-found")

    def image(self) -> str:
        """Of the operator that runs."""
        template = self.kubectl.get("deployment", self.deployment)["spec"]["template"]
        return str(template["spec"]["containers"][0]["image"])

    def log(self) -> str:
        return self.kubectl.run("logs", f"deployment/{self.deployment}", "--all-pods", "--tail=-1")

    def _put(self, verb: str, chart: Path, values: dict[str, Any]) -> str:
        values = {"images": self._images(), "watchNamespaces": [self.models]} | values
        flags = [part for key, value in values.items() for part in ("--set-json", f"{key}={json.dumps(value)}")]
        # The API may be there from another installation, or from kubectl.
        return self.helm.run(
            *(verb, self.name, str(chart), *self._where(), *flags),
            *("--take-ownership", "--wait", "--timeout", "150s"),
        )

    def _images(self) -> dict[str, Any]:
        operator = self.operator or self.images.operator
        named = {"operator": operator, "engine": self.images.engine, "gateway": self.images.gateway}
        parts = {name: image.rpartition(":") for name, image in named.items()}
        return {name: {"repository": repository, "tag": tag} for name, (repository, _, tag) in parts.items()}

    def _where(self) -> tuple[str, str]:
        return "--namespace", self.kubectl.namespace


@pytest.fixture
def release(cluster: Cluster, images: Images, kubectl: Kubectl) -> Iterator[Release]:
    """A release that is not installed yet; afterwards it is taken away."""
    system = make_namespace(cluster, "system")
    release = Release(f"r{secrets.token_hex(2)}", Helm(cluster.enter), system, images, kubectl.namespace)
    yield release
    release.uninstall()
    remove_namespace(system)


@pytest.fixture
def previous_chart(tmp_path: Path) -> Path:
    """The chart before the last change of operator, API and chart."""
    for path, body in previous_files("helm/trellis").items():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(body)
    return tmp_path / "helm" / "trellis"


@pytest.fixture(scope="module")
def previous_image(cluster: Cluster, images: Images) -> str:
    """The operator of that time."""
    return previous_operator(cluster, images)


def pods(kubectl: Kubectl, name: str) -> set[str]:
    """The uid of each pod of a model."""
    return {pod["metadata"]["uid"] for pod in children(kubectl, name, "pods")}


def listens(kubectl: Kubectl, name: str, pods: int) -> None:
    """Let a drain take so many pods at once, and see that an operator listens. No pod is made for that."""
    kubectl.patch("embeddingmodel", name, {"spec": {"disruption": {"maxUnavailable": pods}}})
    budgets = [f"{name}-engine", f"{name}-gateway"]
    for each in budgets:
        until(lambda each=each: kubectl.get("pdb", each)["spec"]["maxUnavailable"] == pods, "the operator listens", 90)


@pytest.mark.parametrize("everywhere", [False, True], ids=["in named namespaces", "in all namespaces"])
def test_an_installed_operator_serves_the_example_with_the_rights_it_has(
    release: Release, kubectl: Kubectl, client: Client, everywhere: bool
) -> None:
    said = release.install(**({"watchNamespaces": []} if everywhere else {}))
    assert "looks after the EmbeddingModels of" in said
    assert "takes away the operator alone. The EmbeddingModels stay" in said
    kubectl.apply(yaml.safe_load((ROOT / "examples" / "minilm.yaml").read_text()))
    wait_settled(kubectl, "all-minilm-l6-v2")
    url = kubectl.get("embeddingmodel", "all-minilm-l6-v2")["status"]["url"]
    assert len(client.embed(url, "all-minilm-l6-v2", ["hello"]).encoded) == 1
    kubectl.delete("embeddingmodel", "all-minilm-l6-v2")
    until(lambda: not children(kubectl, "all-minilm-l6-v2"), "nothing of it is left", 90)
    assert "forbidden" not in release.log().lower()


def test_an_upgrade_from_the_previous_commit_and_a_rollback_leave_models_alone(
    release: Release, kubectl: Kubectl, previous_chart: Path, previous_image: str
) -> None:
    release.operator = previous_image
    release.install(previous_chart)
    kubectl.apply(manifest(embedding={"truncation": "end", "prompts": {"query": "query: "}}))
    wait_settled(kubectl, "m")
    assert release.image() == previous_image
    before, running = templates(kubectl, "m"), pods(kubectl, "m")
    release.operator = ""
    release.upgrade()
    assert release.image() == release.images.operator
    listens(kubectl, "m", 2)
    wait_settled(kubectl, "m")
    assert (templates(kubectl, "m"), pods(kubectl, "m")) == (before, running)
    release.rollback(1)
    assert release.image() == previous_image
    listens(kubectl, "m", 3)
    wait_settled(kubectl, "m")
    assert (templates(kubectl, "m"), pods(kubectl, "m")) == (before, running)


def test_models_outlive_the_chart_and_are_taken_over_by_the_next_one(
    release: Release, kubectl: Kubectl, client: Client
) -> None:
    release.install()
    kubectl.apply(manifest())
    wait_settled(kubectl, "m")
    before, running = templates(kubectl, "m"), pods(kubectl, "m")
    url = kubectl.get("embeddingmodel", "m")["status"]["url"]
    assert CRD in release.uninstall()
    label = f"app.kubernetes.io/instance={release.name}"
    kinds = "deployments,services,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings,networkpolicies"
    left = kubectl.run("get", kinds, "--all-namespaces", "-l", label, "-o", "name")
    assert not left
    assert len(client.embed(url, "m", ["hello"]).encoded) == 1
    assert pods(kubectl, "m") == running
    release.install()
    listens(kubectl, "m", 2)
    wait_settled(kubectl, "m")
    assert templates(kubectl, "m") == before
    assert pods(kubectl, "m") == running


def test_a_second_replica_takes_over_when_the_leader_goes(release: Release, kubectl: Kubectl) -> None:
    release.install(replicas=2)
    assert release.kubectl.get("poddisruptionbudget", release.deployment)["spec"]["maxUnavailable"] == 1
    leader = until(lambda: _leader(release), "there is a leader")
    kubectl.apply(manifest())
    wait_for(kubectl, "m", "Accepted", "True")
    release.kubectl.run("delete", "pod", leader, "--grace-period=0", "--force")
    until(lambda: _leader(release) not in ("", leader), "another one leads", 90)
    listens(kubectl, "m", 2)


def _leader(release: Release) -> str:
    lease = release.kubectl.find("lease", "trellis-operator")
    return str((lease or {}).get("spec", {}).get("holderIdentity", "")).partition("_")[0]


def test_the_operators_metrics_are_where_its_service_says(release: Release, client: Client) -> None:
    release.install()
    url = f"http://{release.deployment}-metrics.{release.kubectl.namespace}.svc:9100/metrics"
    answer = until(lambda: _answered(client, url), "metrics are served", 60)
    assert "trellis_operator_api_call_seconds_count" in answer


def _answered(client: Client, url: str) -> str:
    answer = client.request("GET", url)
    return answer.text if answer.status == 200 else ""
