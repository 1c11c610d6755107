"""Bodies and programs that the operator's tests start from."""

import copy
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from localkit.running import Running, running
from trellis_operator.cluster.api import Api
from trellis_operator.cluster.capacity import Capacity
from trellis_operator.cluster.events import Events
from trellis_operator.cluster.executor import Executor
from trellis_operator.cluster.fence import Fence
from trellis_operator.cluster.metrics import Metrics
from trellis_operator.cluster.models import Models
from trellis_operator.cluster.store import Store
from trellis_operator.cluster.visit import Visitor
from trellis_operator.desired.all import desired
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.observed import Observed
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.view import View, view
from trellis_operator.validate import validate
from visitkit.client import client_of
from visitkit.server import KEY, Server, Unseen

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def examples() -> Path:
    return ROOT / "examples"


@pytest.fixture
def minimal(examples: Path) -> dict[str, Any]:
    """A fresh copy of the small example's body."""
    return _body(examples / "minilm.yaml")


@pytest.fixture
def full(examples: Path) -> dict[str, Any]:
    """A fresh copy of the body with every optional field."""
    return _body(examples / "full.yaml")


@pytest.fixture
def write_manifest(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Writes a body as a manifest file."""

    def write(body: dict[str, Any]) -> Path:
        path = tmp_path / "manifest.yaml"
        path.write_text(yaml.safe_dump(body))
        return path

    return write


def _body(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = copy.deepcopy(yaml.safe_load(path.read_text()))
    return body


@pytest.fixture
def in_cluster() -> Callable[[dict[str, Any]], EmbeddingModel]:
    """Reads a body as a cluster would give it: valid, with defaults, a namespace, a uid and a generation."""

    def read(body: dict[str, Any]) -> EmbeddingModel:
        filled = validate(body)
        filled["metadata"] |= {"namespace": "search", "uid": "uid-1", "generation": 3}
        return EmbeddingModel.from_body(filled)

    return read


@pytest.fixture
def setting() -> ClusterSetting:
    """A cluster that knows all optional kinds."""
    return ClusterSetting(
        engine_image="e:1", gateway_image="g:1", fetch_image="f:1", served=frozenset({"PodMonitor", "HTTPRoute"})
    )


@pytest.fixture
def as_observed() -> Callable[[Iterable[dict[str, Any]]], Observed]:
    """What would be observed once objects were applied: with a uid, and what an API server fills in."""

    def observe(objects: Iterable[dict[str, Any]]) -> Observed:
        return Observed({(each["kind"], each["metadata"]["name"]): _applied(each) for each in objects})

    return observe


@pytest.fixture
def serving(
    minimal: dict[str, Any],
    in_cluster: Callable[[dict[str, Any]], EmbeddingModel],
    setting: ClusterSetting,
    as_observed: Callable[[Iterable[dict[str, Any]]], Observed],
) -> View:
    """A look at the small example's model once all of it is ready."""
    model = in_cluster(minimal)
    return view(model, as_observed(desired(model, setting, {})), {})


def _applied(wanted: dict[str, Any]) -> dict[str, Any]:
    seen = copy.deepcopy(wanted)
    seen["metadata"] |= {"uid": f"uid-{wanted['metadata']['name']}", "generation": 1}
    if wanted["kind"] == "Deployment":
        replicas = wanted["spec"]["replicas"]
        seen["spec"]["template"]["spec"] |= {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst"}
        seen["status"] = {
            "observedGeneration": 1,
            **dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), replicas),
        }
    return seen


@pytest.fixture
def unseen() -> Unseen:
    """Nothing, until a test says so."""
    return Unseen()


@pytest.fixture
def server(minimal: dict[str, Any]) -> Server:
    """An API server that has the small example's model."""
    model = validate(minimal)
    model["metadata"] |= {"namespace": KEY[0], "uid": "uid-1", "generation": 1, "resourceVersion": "1"}
    return Server(model)


@pytest.fixture
async def visitor(server: Server, unseen: Unseen, setting: ClusterSetting) -> AsyncIterator[Visitor]:
    """Visits the model on that server."""
    async with client_of(server.answer) as client:
        metrics, store, models = Metrics(), Store(), Models()
        api = Api(client, Fence.always_open(), metrics)
        models.put(copy.deepcopy(server.model))
        yield Visitor(
            api=api,
            store=store,
            models=models,
            setting={KEY[0]: setting}.__getitem__,
            unseen=lambda: unseen.kinds,
            capacity=Capacity(api),
            executor=Executor(api, store, metrics),
            events=Events(api, "test"),
        )


@pytest.fixture
def without_vectors(minilm: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Makes a small random `reranker` or `splade` model with MiniLM's tokenizer."""

    def make(kind: str) -> Path:
        from sentence_transformers import SparseEncoder
        from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling
        from transformers import AutoTokenizer, BertConfig, BertForMaskedLM, BertForSequenceClassification

        base, folder = tmp_path / "base", tmp_path / kind
        sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 48}
        head = BertForSequenceClassification if kind == "reranker" else BertForMaskedLM
        head(BertConfig(vocab_size=30522, num_labels=1, **sizes)).save_pretrained(base)
        AutoTokenizer.from_pretrained(str(minilm)).save_pretrained(base)
        if kind == "reranker":
            return base
        modules = [MLMTransformer(str(base)), SpladePooling()]
        SparseEncoder(modules=modules, device="cpu").save_pretrained(str(folder))
        return folder

    return make


@pytest.fixture
def manifest(examples: Path) -> str:
    """The path of the small example."""
    return str(examples / "minilm.yaml")


@pytest.fixture
def local(manifest: str, minilm: Path) -> Iterator[Running]:
    """A `local` of the small example that is ready."""
    with running(manifest, "--model", str(minilm)) as started:
        started.until_ready()
        yield started
