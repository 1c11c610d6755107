"""The example with every optional field, with values that a cluster of two small nodes can have: the same fields."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.models import ACCELERATOR, announce_accelerators
from e2ekit.models import manifest as model
from e2ekit.optional_kinds import HTTP_ROUTE, POD_MONITOR, SCALED_OBJECT, optional_kinds
from e2ekit.volumes import Volume

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "full.yaml"
CLASS = "trellis-e2e"
"""Name of the RuntimeClass and of the PriorityClass of the pods."""
KEY = "a-key-for-tests-only"
_ANY_NODE = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "kubernetes.io/arch", "operator": "Exists"}]}]}


@contextmanager
def cluster_for_full(kubectl: Kubectl) -> Iterator[None]:
    """A cluster that knows every kind, and has the classes and accelerators of these models, while inside."""
    classes = (
        {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "runc"},
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": 1000},
    )
    with optional_kinds(kubectl, POD_MONITOR, HTTP_ROUTE, SCALED_OBJECT):
        kubectl.apply(*(each | {"metadata": {"name": CLASS}} for each in classes))
        announce_accelerators(kubectl, 2)
        try:
            yield
        finally:
            announce_accelerators(kubectl, 0)
            kubectl.run("delete", f"runtimeclass/{CLASS}", f"priorityclass/{CLASS}", "--wait=false")


def secret(name: str, **values: str) -> Manifest:
    """One of those that the manifest names."""
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": values}


def full(kubectl: Kubectl, disk: Volume, source: Manifest | None = None) -> Manifest:
    """The manifest, of one engine on an accelerator that only tests announce, named `m`.

    Args:
        kubectl: in the namespace that it is for.
        disk: where the model is downloaded to; a volume that several nodes can have.
        source: `spec.model.source`; that of the other tests, which needs no hub, where there is none.
    """
    example: Manifest = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    spec = _merged(example["spec"], _of_a_small_cluster(kubectl, disk))
    spec["scheduling"] |= _scheduling()
    spec["model"]["source"] = source or model()["spec"]["model"]["source"]
    return example | {"metadata": example["metadata"] | {"name": "m", "namespace": kubectl.namespace}, "spec": spec}


def _of_a_small_cluster(kubectl: Kubectl, disk: Volume) -> Manifest:
    return {
        "model": {"servedNames": ["m", "text-embedding-3-small"], "dtype": "float32"},
        "embedding": {
            "pooling": "mean",
            "dimensions": {"allowed": [128, 256]},
            "maxInputTokens": 256,
            "documentWindows": {"tokens": 128, "overlapTokens": 32},
        },
        "cache": {"persistentVolumeClaim": {"accessMode": "ReadWriteMany"} | disk.claim},
        "engine": {
            "replicas": 1,
            "accelerator": {"resourceName": ACCELERATOR},
            "resources": {"requests": {"cpu": "100m", "memory": "400Mi"}, "limits": {"cpu": 1, "memory": "1Gi"}},
            "drain": {"delaySeconds": 1, "timeoutSeconds": 10},
        },
        "gateway": {
            "replicas": 1,
            "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        },
        "monitoring": {"tracing": {"endpoint": f"http://collector.{kubectl.namespace}.svc:4317"}},
    }


def _scheduling() -> Manifest:
    """On any node; tolerations with the two fields that the example's has no use for."""
    leaving = {"key": "example.com/leaving", "operator": "Equal", "value": "soon", "effect": "NoExecute"}
    return {
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [leaving | {"tolerationSeconds": 60}, {"key": "example.com/pool", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": _ANY_NODE}},
        "runtimeClassName": CLASS,
        "priorityClassName": CLASS,
    }


def _merged(base: Any, over: Any) -> Any:
    """`over` on top of `base`, section by section."""
    if not isinstance(base, Mapping) or not isinstance(over, Mapping):
        return over
    return {**base, **{key: _merged(base.get(key), value) for key, value in over.items()}}
