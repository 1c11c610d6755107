"""A manifest with every optional field set and one with none: both become all their objects, serve, and agree."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from e2ekit.client import TOLERANCE, Client, numbers
from e2ekit.cluster import Cluster
from e2ekit.full import CLASS, EXAMPLE, KEY, cluster_for_full, full, secret
from e2ekit.hub import REPO, Hub
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.models import all_kinds, children, condition, manifest, wait_for, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.volumes import Volume, volume
from e2ekit.waiting import until

pytestmark = pytest.mark.cluster

TOKEN = "hf_right"
TEXT = "one text, for two models"
SPEC = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))["spec"]
QUERY = SPEC["embedding"]["prompts"]["query"]
PROMETHEUS = SPEC["engine"]["autoscaling"]["prometheusUrl"]
OF_ANY = {
    "ServiceAccount": 2,
    "Role": 1,
    "RoleBinding": 1,
    "ConfigMap": 1,
    "NetworkPolicy": 1,
    "PodMonitor": 1,
    "Service": 2,
    "Deployment": 2,
    "PodDisruptionBudget": 2,
}
OF_FULL = OF_ANY | {"ConfigMap": 2, "Job": 1, "PersistentVolumeClaim": 1, "ScaledObject": 1, "HTTPRoute": 1}


@pytest.fixture(scope="module", autouse=True)
def kinds(cluster: Cluster, crd: None) -> Iterator[str]:
    """Every kind that the API server then knows."""
    kubectl = Kubectl(cluster, "default")
    with cluster_for_full(kubectl):
        yield all_kinds(kubectl)


@pytest.fixture
def disk(kubectl: Kubectl) -> Iterator[Volume]:
    with volume(kubectl) as made:
        yield made


@pytest.fixture
def source(kubectl: Kubectl, client: Client, images: Images, operator: OperatorProcess) -> Manifest:
    """A source with every optional field, of a hub that wants its token and that the operator's fetches ask."""
    hub = Hub(kubectl, client, images.operator)
    until(hub.answers, "the hub serves")
    hub.gate(TOKEN)
    operator.stop()
    # The credentials of the operator's own Prometheus, which is the one that the manifest names.
    shown = ("--prometheus-url", PROMETHEUS, "--prometheus-authentication", "ClusterTriggerAuthentication/prometheus")
    operator.flags = ("--fetch-env", f"HF_ENDPOINT={hub.url}", *shown)
    operator.start()
    token = {"name": "hf", "key": "other"}
    return {
        "huggingFace": {"repo": REPO, "revision": "main", "allowFloatingRevision": True, "tokenSecretRef": token},
    }


def bare() -> Manifest:
    """What must be said, and nothing else."""
    model = manifest("n")
    return model | {"spec": {"model": {"source": model["spec"]["model"]["source"]}}}


def fields(value: Any, path: str = "spec") -> set[str]:
    """The paths of all that is set, but for names that a person makes up."""
    if not isinstance(value, Mapping) or path.endswith(("source", "nodeSelector", "annotations", "affinity")):
        return {path}
    return {each for key, inner in value.items() for each in fields(inner, f"{path}.{key}")}


def owned(kubectl: Kubectl, name: str, kinds: str) -> list[Manifest]:
    """The objects that a model owns itself."""
    uid = kubectl.get("embeddingmodel", name)["metadata"]["uid"]
    owners = [(each, each["metadata"].get("ownerReferences", [])) for each in children(kubectl, name, kinds)]
    return [each for each, found in owners if uid in [owner["uid"] for owner in found]]


def test_every_optional_field_and_none_both_work(
    kubectl: Kubectl, operator: OperatorProcess, client: Client, source: Manifest, disk: Volume, kinds: str
) -> None:
    model = full(kubectl, disk, source)
    assert fields(SPEC) <= fields(model["spec"])
    kubectl.apply(secret("hf", other=TOKEN), secret("keys", team=KEY), model, bare())
    for name in ("m", "n"):
        wait_settled(kubectl, name, 200)
        wait_for(kubectl, name, "Accepted", "True", "Valid")
        # Nothing came out of the API server, or of a CRD's schema, otherwise than it was applied.
        wait_for(kubectl, name, "Degraded", "False", "AsAskedFor")
    assert condition(kubectl, "m", "SourceReady")[:2] == ("True", "Downloaded")
    assert condition(kubectl, "n", "SourceReady")[:2] == ("True", "Fetched")
    assert condition(kubectl, "m", "GraphsWarmed")[0] == condition(kubectl, "n", "GraphsWarmed")[0] == "True"
    assert condition(kubectl, "m", "Autoscaled")[1] not in ("NotAskedFor", "KedaNotInstalled", "NoPrometheus")
    assert condition(kubectl, "n", "Autoscaled")[1] == "NotAskedFor"

    for name, expected in (("m", OF_FULL), ("n", OF_ANY)):
        assert Counter(each["kind"] for each in owned(kubectl, name, kinds)) == expected
    assert_asked_for(kubectl)
    assert_vectors(kubectl, client)


def assert_asked_for(kubectl: Kubectl) -> None:
    """What only the whole manifest says has come to where it belongs."""
    route = kubectl.get("httproute", "m")["spec"]
    [parent], [rule] = route["parentRefs"], route["rules"]
    assert {"name": "public", "namespace": "ingress", "sectionName": "https"}.items() <= parent.items()
    assert route["hostnames"] == ["embed.example.com"]
    assert {"name": "m", "port": 80}.items() <= rule["backendRefs"][0].items()
    scaled = kubectl.get("scaledobject", "m-engine")["spec"]
    assert (scaled["minReplicaCount"], scaled["maxReplicaCount"]) == (1, 8)
    [trigger] = scaled["triggers"]
    assert trigger["authenticationRef"] == {"kind": "ClusterTriggerAuthentication", "name": "prometheus"}
    assert trigger["metadata"]["authModes"] == "bearer"
    assert kubectl.get("service", "m")["metadata"]["annotations"]["example.com/owner"] == "search"
    engine = {"app.kubernetes.io/instance": "m", "app.kubernetes.io/component": "engine"}
    [pod] = kubectl.all("pods", engine)
    assert pod["spec"]["runtimeClassName"] == pod["spec"]["priorityClassName"] == CLASS
    assert {"example.com/leaving", "example.com/pool"} <= {each.get("key") for each in pod["spec"]["tolerations"]}
    # The schemas are the real ones: they refuse what their kinds cannot be.
    for kind in ("httproute", "podmonitor", "scaledobject"):
        [found] = kubectl.all(kind, {"app.kubernetes.io/instance": "m"})
        wrong = {each: found[each] for each in ("apiVersion", "kind")} | {"metadata": {"name": "wrong"}}
        assert "spec." in (kubectl.refusal(wrong | {"spec": {"hostnames": ["no host"]}}) or "")


def assert_vectors(kubectl: Kubectl, client: Client) -> None:
    """The two models are one: what the one makes of a prompt, a size and a key, the other does without them."""
    plain = [numbers(each) for each in client.embed(url(kubectl, "n"), "n", [TEXT, QUERY + TEXT]).encoded]
    assert client.embed(url(kubectl, "m"), "m", [TEXT]).status == 401
    whole, query, short = (
        ask(kubectl, client),
        ask(kubectl, client, prompt_name="query"),
        ask(kubectl, client, dimensions=128),
    )
    length = math.hypot(*plain[0][:128])
    assert whole == pytest.approx(plain[0], abs=TOLERANCE)
    assert query == pytest.approx(plain[1], abs=TOLERANCE)
    assert short == pytest.approx([each / length for each in plain[0][:128]], abs=TOLERANCE)


def ask(kubectl: Kubectl, client: Client, **more: object) -> tuple[float, ...]:
    """The vector of the text, for whoever has a key."""
    body = {"model": "text-embedding-3-small", "input": TEXT, "encoding_format": "base64"} | more
    headers = {"authorization": f"Bearer {KEY}"}
    [vector] = client.request("POST", f"{url(kubectl, 'm')}/v1/embeddings", body, headers).encoded
    return numbers(vector)


def url(kubectl: Kubectl, name: str) -> str:
    return str(kubectl.get("embeddingmodel", name)["status"]["url"])
