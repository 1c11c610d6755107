"""A mutating webhook for the objects of one namespace: it changes what is written there, and leaves no name behind."""

import base64
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from e2ekit.cluster import checked
from e2ekit.kubectl import Kubectl, Manifest, RefusedError
from e2ekit.pods import script_pod
from e2ekit.waiting import until

_NAME = "webhook"
_PORT = 8443
COMPONENT = "app.kubernetes.io/component"


@dataclass(frozen=True)
class Rewrite:
    """What becomes of the objects of a resource.

    Attributes:
        resource: e.g. pods.
        component: of which they are; those of others stay as they are.
        patch: one operation of a JSON patch.
        when: CREATE, UPDATE.
    """

    resource: str
    component: str
    patch: Manifest
    when: tuple[str, ...]


@contextmanager
def webhook(kubectl: Kubectl, image: str, labels: Mapping[str, str], rewrites: Sequence[Rewrite]) -> Iterator[None]:
    """It is in force for objects with these labels, while inside; the first rewrite is that of a budget."""
    certificate, key = _certificate(f"{_NAME}.{kubectl.namespace}.svc")
    patches = json.dumps({f"{each.resource}/{each.component}": [each.patch] for each in rewrites})
    command = ["python", *(f"/scripts/{name}" for name in ("admit.py", "patches.json", "tls.crt", "tls.key"))]
    files = {"patches.json": patches, "tls.crt": certificate, "tls.key": key}
    kubectl.apply(*script_pod(_NAME, image, command, files), _service())
    kubectl.run("label", "pod", _NAME, f"app={_NAME}")
    kubectl.run("wait", "--for=condition=Ready", f"pod/{_NAME}", "--timeout=60s")
    trial = {**labels, COMPONENT: rewrites[0].component}
    configuration = _configuration(kubectl.namespace, certificate, labels, rewrites)
    kubectl.apply(configuration)
    try:
        until(lambda: _is_in_force(kubectl, trial), "the webhook is in force", 30)
        yield
    finally:
        kubectl.delete("mutatingwebhookconfiguration", configuration["metadata"]["name"])
        until(lambda: not _is_in_force(kubectl, trial), "the webhook is in force no more", 30)


def _is_in_force(kubectl: Kubectl, labels: Mapping[str, str]) -> bool:
    """Whether a budget that nobody needs comes out otherwise, which takes that budgets are among what is rewritten."""
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "nobody"}}}
    trial = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "trial", "labels": labels}}
    flags = ["--dry-run=server", "-o", "json", "-f", "-"]
    try:
        seen = kubectl.run("create", *flags, stdin=json.dumps(trial | {"spec": spec}))
    except RefusedError:
        return False  # it does not answer yet
    return bool(json.loads(seen)["spec"] != spec)


def _certificate(host: str) -> tuple[str, str]:
    """A certificate that signs itself, and its key, as PEM."""
    with tempfile.TemporaryDirectory() as folder:
        certificate, key = Path(folder) / "tls.crt", Path(folder) / "tls.key"
        names = ["-subj", f"/CN={_NAME}", "-addext", f"subjectAltName=DNS:{host}"]
        files = ["-keyout", str(key), "-out", str(certificate)]
        checked(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names, *files], 30)
        return certificate.read_text(), key.read_text()


def _service() -> Manifest:
    spec = {"selector": {"app": _NAME}, "ports": [{"port": 443, "targetPort": _PORT}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": _NAME}, "spec": spec}


def _configuration(
    namespace: str, certificate: str, labels: Mapping[str, str], rewrites: Sequence[Rewrite]
) -> Manifest:
    bundle = base64.b64encode(certificate.encode()).decode()
    rules = [
        {"apiGroups": ["*"], "apiVersions": ["*"], "operations": list(each.when), "resources": [each.resource]}
        for each in rewrites
    ]
    hook = {
        "name": "rewrites.trellis-e2e.dev",
        "clientConfig": {"service": {"name": _NAME, "namespace": namespace}, "caBundle": bundle},
        "rules": rules,
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "objectSelector": {"matchLabels": dict(labels)},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    }
    group = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
    return group | {"metadata": {"name": f"rewrites-{namespace}"}, "webhooks": [hook]}
