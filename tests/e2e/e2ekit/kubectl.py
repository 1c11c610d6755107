"""The API server, asked through kubectl: what a person would type, with errors as the person would read them."""

import json
import shutil
import subprocess
from collections.abc import Mapping
from typing import Any

import pytest
from e2ekit.cluster import Cluster

Manifest = dict[str, Any]
_TIMEOUT_S = 120.0


class RefusedError(Exception):
    """kubectl failed; the text is what it said."""


class Kubectl:
    """kubectl in one namespace of `cluster`."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        if not cluster.own and shutil.which("kubectl") is None:
            pytest.fail("kubectl is missing: it talks to the cluster of KUBECONFIG", pytrace=False)
        self.cluster = cluster
        self.namespace = namespace

    def command(self, *arguments: str) -> list[str]:
        """The whole command line, for whoever runs it itself."""
        return [*self.cluster.enter, "kubectl", "--namespace", self.namespace, *arguments]

    def run(self, *arguments: str, stdin: str | None = None, timeout_s: float = _TIMEOUT_S) -> str:
        """What kubectl prints.

        Raises:
            RefusedError: it failed.
            subprocess.TimeoutExpired: it did not end within `timeout_s`.
        """
        done = subprocess.run(
            self.command(*arguments), input=stdin, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        if done.returncode:
            raise RefusedError(done.stderr.strip() or done.stdout.strip())
        return done.stdout

    def apply(self, *manifests: Manifest, server_side: bool = False) -> None:
        """Apply them, in order."""
        flags = ["--server-side"] if server_side else []
        items = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self.run("apply", *flags, "-f", "-", stdin=json.dumps(items))

    def refusal(self, manifest: Manifest) -> str | None:
        """What the API server says against `manifest`; None when it would take it. Nothing is stored."""
        try:
            self.run("create", "--dry-run=server", "-f", "-", stdin=json.dumps(manifest))
        except RefusedError as error:
            return str(error)
        return None

    def find(self, kind: str, name: str) -> Manifest | None:
        """The object, or None when there is none."""
        found = self.run("get", kind, name, "--ignore-not-found", "-o", "json")
        return json.loads(found) if found else None

    def get(self, kind: str, name: str) -> Manifest:
        """The object.

        Raises:
            RefusedError: there is none.
        """
        return dict(json.loads(self.run("get", kind, name, "-o", "json")))

    def all(self, kinds: str, labels: Mapping[str, str] | None = None, timeout_s: float = _TIMEOUT_S) -> list[Manifest]:
        """All objects of `kinds` (`pods,services`) that bear `labels`."""
        selector = ",".join(f"{key}={value}" for key, value in (labels or {}).items())
        found = self.run("get", kinds, "--selector", selector, "-o", "json", timeout_s=timeout_s)
        return list(json.loads(found)["items"])

    def patch(self, kind: str, name: str, change: Manifest, *flags: str) -> None:
        """Merge `change` into the object."""
        self.run("patch", kind, name, "--type=merge", "--patch", json.dumps(change), *flags)

    def delete(self, kind: str, name: str, *flags: str) -> None:
        """Ask for its deletion; does not wait for the end of it."""
        self.run("delete", kind, name, "--wait=false", "--ignore-not-found", *flags)
