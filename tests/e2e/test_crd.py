"""The CRD on the real API server: what it takes, what it refuses and how it says so, and what kubectl shows of it."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2ekit.cluster import Cluster
from e2ekit.crd import CRD_FILE
from e2ekit.kubectl import Kubectl, Manifest, RefusedError
from e2ekit.namespaces import make_namespace, remove_namespace

pytestmark = pytest.mark.cluster

EXAMPLES = Path(__file__).parents[2] / "examples"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def full() -> Manifest:
    """The example with every optional field, in the test's namespace."""
    manifest: Manifest = yaml.safe_load((EXAMPLES / "full.yaml").read_text(encoding="utf-8"))
    del manifest["metadata"]["namespace"]
    return manifest


def least(**spec: Any) -> Manifest:
    """A manifest with no optional field but those in `spec`."""
    source = {"package": {"name": "a", "version": "1", "path": "a/model"}}
    return {
        "apiVersion": "trellis.dev/v1alpha1",
        "kind": "EmbeddingModel",
        "metadata": {"name": "least"},
        "spec": {"model": {"source": source}} | spec,
    }


def put(manifest: Manifest, path: str, value: Any) -> Manifest:
    """A copy with the field at a dotted path set; the sections before it must be there."""
    changed = copy.deepcopy(manifest)
    *parents, last = path.split(".")
    where = changed
    for parent in parents:
        where = where[parent]
    where[last] = value
    return changed


@pytest.fixture(scope="module")
def asking(cluster: Cluster, crd: None) -> Iterator[Kubectl]:
    """kubectl in one namespace for all tests that store nothing."""
    kubectl = make_namespace(cluster, "crd")
    yield kubectl
    remove_namespace(kubectl)


SOURCES = [
    {"huggingFace": {"repo": "a/b", "revision": COMMIT}},
    {"huggingFace": {"repo": "b", "allowFloatingRevision": True}},
    {"s3": {"uri": "s3://bucket/folder", "endpoint": "http://store:9000", "region": "x", "secretRef": {"name": "s"}}},
    {"s3": {"uri": "s3://bucket"}},
    {"pvc": {"claimName": "weights"}},
    {"image": {"reference": "models/minilm@sha256:" + "0" * 64, "path": "model"}},
    {"package": {"name": "a", "version": "1.0", "path": "a/model"}},
]


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_is_taken(asking: Kubectl, example: Path) -> None:
    for manifest in yaml.safe_load_all(example.read_text(encoding="utf-8")):
        manifest["metadata"].pop("namespace", None)
        assert asking.refusal(manifest) is None


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: next(iter(source)))
def test_each_source_is_taken_alone(asking: Kubectl, source: Manifest) -> None:
    assert asking.refusal(put(least(), "spec.model.source", source)) is None


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        # the rules, each with its own sentence
        ("spec.model.source", {}, "exactly one of huggingFace, s3, pvc, image, package must be given"),
        (
            "spec.model.source.pvc",
            {"claimName": "x"},
            "exactly one of huggingFace, s3, pvc, image, package must be given",
        ),
        ("spec.model.source.huggingFace", {"repo": "a/b"}, "revision is required"),
        ("spec.engine.autoscaling.minReplicas", 9, "minReplicas must be at most maxReplicas"),
        ("spec.embedding.defaultPrompt", "passage", "defaultPrompt must be the name of one of prompts"),
        ("spec.embedding.maxInputTokens", 20000, "must be at most engine.batching.maxBatchTokens"),
        (
            "spec.engine.cudaGraphs.prewarm",
            [{"tokens": 65, "sequences": 2}],
            "must be a multiple of tokenBucketMultiple",
        ),
        ("spec.engine.cudaGraphs.prewarm", [{"tokens": 64, "sequences": 3}], "must be one of sequenceSlots"),
        ("spec.engine.cudaGraphs.prewarm", [{"tokens": 64, "sequences": 128}], "each sequence has at least one token"),
        ("spec.engine.cudaGraphs", {"sequenceSlots": [1]}, "sequenceSlots must have one of 2 or more"),
        ("spec.engine.cudaGraphs.mode", "off", "prewarm needs mode lazy"),
        ("spec.model.source", {"package": {"name": "a", "version": "1", "path": "../b"}}, "stay inside the package"),
        ("spec.model.source", {"package": {"name": "a", "version": "1", "path": "/etc"}}, "stay inside the package"),
        ("metadata.name", "a" * 41, "metadata.name must be at most 40 characters"),
        ("metadata.name", "1a", "metadata.name in body should match"),
        # types, bounds and words
        ("spec.model.dtype", "float16", 'supported values: "float32", "bfloat16"'),
        ("spec.engine.replicas", "2", 'spec.engine.replicas in body must be of type integer: "string"'),
        ("spec.engine.replicas", -1, "spec.engine.replicas in body should be greater than or equal to 0"),
        ("spec.engine.replicas", 1001, "spec.engine.replicas in body should be less than or equal to 1000"),
        ("spec.engine.accelerator.count", 2, "spec.engine.accelerator.count in body should be less than or equal to 1"),
        ("spec.engine.attentionBackend", "flash", "spec.engine.attentionBackend: Unsupported value"),
        ("spec.engine.rollout.strategy", "fast", "spec.engine.rollout.strategy: Unsupported value"),
        ("spec.model.servedNames", [], "spec.model.servedNames in body should have at least 1 items"),
        ("spec.model.servedNames", ["a", "a"], 'spec.model.servedNames[1]: Duplicate value: "a"'),
        ("spec.model.servedNames", [f"a{i}" for i in range(17)], "must have at most 16 items"),
        ("spec.model.servedNames", ["a b"], "spec.model.servedNames[0] in body should match"),
        ("spec.embedding.dimensions.allowed", [0], "spec.embedding.dimensions.allowed[0] in body should be greater"),
        ("spec.embedding.prompts", {"a": "x" * 8193}, "may not be more than 8192"),
        ("spec.embedding.prompts", {f"p{i}": "" for i in range(65)}, "must have at most 64 items"),
        ("spec.cache.persistentVolumeClaim.size", "20Gb", "spec.cache.persistentVolumeClaim.size in body should match"),
        ("spec.cache.persistentVolumeClaim.accessMode", "ReadOnlyMany", "accessMode: Unsupported value"),
        ("spec.gateway.loadBalancing.retryBudgetPercent", 101, "should be less than or equal to 100"),
        ("spec.gateway.expose.service.type", "ExternalName", "spec.gateway.expose.service.type: Unsupported value"),
        ("spec.gateway.expose.httpRoute.parentRefs", [], "should have at least 1 items"),
        ("spec.gateway.apiKeysSecretRef", {}, "spec.gateway.apiKeysSecretRef.name: Required value"),
        ("spec.disruption.maxUnavailable", -1, "should be greater than or equal to 0"),
        ("spec.engine.drain.timeoutSeconds", 3601, "should be less than or equal to 3600"),
        ("spec.model", {}, "spec.model.source: Required value"),
    ],
)
def test_a_bad_manifest_is_refused_with_a_sentence(asking: Kubectl, path: str, value: Any, said: str) -> None:
    refusal = asking.refusal(put(full(), path, value))
    assert refusal is not None, "the API server takes it"
    assert said in refusal


def test_an_unknown_field_is_refused_by_kubectl(asking: Kubectl) -> None:
    refusal = asking.refusal(put(full(), "spec.engine.replica", 2))
    assert refusal is not None
    assert 'unknown field "spec.engine.replica"' in refusal


def test_absent_fields_get_their_defaults(kubectl: Kubectl) -> None:
    kubectl.apply(least())
    spec = kubectl.get("embeddingmodel", "least")["spec"]
    assert spec["engine"]["replicas"] == spec["gateway"]["replicas"] == 1
    assert spec["engine"]["drain"] == {"delaySeconds": 10, "timeoutSeconds": 60}
    assert spec["cache"]["download"] == {"deadlineSeconds": 3600, "stallSeconds": 120}
    assert "embedding" not in spec


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("storageClassName", "slow", "storageClassName cannot be changed, since no volume can"),
        ("accessMode", "ReadWriteOnce", "accessMode cannot be changed, since no volume can"),
        ("size", "19Gi", "size can only grow, since no volume shrinks"),
        ("size", 20, "size can only grow, since no volume shrinks"),
    ],
)
def test_what_no_volume_can_change_is_refused_later(kubectl: Kubectl, field: str, value: str, said: str) -> None:
    kubectl.apply(full())
    with pytest.raises(RefusedError, match=said):
        kubectl.apply(put(full(), f"spec.cache.persistentVolumeClaim.{field}", value))


def test_a_claim_can_be_taken_away_and_added_anew(kubectl: Kubectl) -> None:
    kubectl.apply(full())
    kubectl.apply(put(full(), "spec.cache", {}))
    kubectl.apply(put(full(), "spec.cache.persistentVolumeClaim.storageClassName", "slow"))


@pytest.mark.parametrize("size", ["20480Mi", "30Gi", 20 * 2**30])
def test_a_claim_may_grow_and_its_size_may_be_written_in_another_way(kubectl: Kubectl, size: object) -> None:
    kubectl.apply(full())
    kubectl.apply(put(full(), "spec.cache.persistentVolumeClaim.size", size))


def test_the_scale_subresource_is_that_of_the_engines(kubectl: Kubectl) -> None:
    kubectl.apply(least())
    kubectl.run("scale", "embeddingmodel/least", "--replicas=3")
    assert kubectl.get("embeddingmodel", "least")["spec"]["engine"]["replicas"] == 3
    seen = {"replicas": 2, "readyReplicas": 1, "selector": "a=b"}
    kubectl.patch("embeddingmodel", "least", {"status": {"engine": seen}}, "--subresource=status")
    path = f"/apis/trellis.dev/v1alpha1/namespaces/{kubectl.namespace}/embeddingmodels/least/scale"
    scale = json.loads(kubectl.run("get", "--raw", path))
    assert scale["spec"] == {"replicas": 3}
    assert scale["status"] == {"replicas": 2, "selector": "a=b"}


def test_a_change_of_the_status_is_no_new_generation(kubectl: Kubectl) -> None:
    kubectl.apply(least())
    kubectl.patch("embeddingmodel", "least", {"status": {"url": "http://x"}}, "--subresource=status")
    kubectl.patch("embeddingmodel", "least", {"status": {"url": "http://y"}})
    found = kubectl.get("embeddingmodel", "least")
    assert found["metadata"]["generation"] == 1
    assert found["status"]["url"] == "http://x"


def test_kubectl_get_shows_what_a_person_looks_for(kubectl: Kubectl) -> None:
    kubectl.apply(least(engine={"replicas": 2}))
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Serving",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {"conditions": [ready], "engine": {"readyReplicas": 1}, "url": "http://least.x.svc"}
    kubectl.patch("embeddingmodel", "least", {"status": status}, "--subresource=status")
    head, row = kubectl.run("get", "em").splitlines()
    assert head.split() == ["NAME", "READY", "REASON", "ENGINE", "READY", "DESIRED", "WARMED", "URL", "AGE"]
    assert row.split()[:5] == ["least", "True", "Serving", "1", "2"]
    assert "http://least.x.svc" in row
    assert "embeddingmodel.trellis.dev/least" in kubectl.run("get", "all", "-o", "name")


def test_kubectl_explain_reads_well(asking: Kubectl) -> None:
    told = asking.run("explain", "em.spec.engine")
    assert "The processes that hold the weights." in told
    for field in (
        "accelerator",
        "attentionBackend",
        "autoscaling",
        "batching",
        "cudaGraphs",
        "drain",
        "replicas",
        "rollout",
    ):
        assert f"  {field}\t" in told
    told = asking.run("explain", "em.spec.engine.rollout.strategy").split()
    assert told[told.index("ENUM:") + 1 :][:3] == ["auto", "surge", "inPlace"]


def test_every_field_has_a_description(asking: Kubectl) -> None:
    told = json.loads(asking.run("get", "crd", "embeddingmodels.trellis.dev", "-o", "json"))
    [version] = told["spec"]["versions"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert not list(_undescribed(spec, "spec"))


def _undescribed(schema: Manifest, path: str) -> list[str]:
    missing = [] if schema.get("description") else [path]
    fields = {f"{path}.{name}": field for name, field in schema.get("properties", {}).items()}
    items = schema.get("items", {})
    fields |= {f"{path}[].{name}": field for name, field in items.get("properties", {}).items()}
    return missing + [each for name, field in fields.items() for each in _undescribed(field, name)]


def test_the_schema_is_structural_and_its_rules_are_cheap_enough(asking: Kubectl) -> None:
    asking.run("apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", str(CRD_FILE))
    conditions = asking.get("crd", "embeddingmodels.trellis.dev")["status"]["conditions"]
    assert "NonStructuralSchema" not in {each["type"] for each in conditions}
    assert {"type": "Established", "status": "True"}.items() <= next(
        c for c in conditions if c["type"] == "Established"
    ).items()
