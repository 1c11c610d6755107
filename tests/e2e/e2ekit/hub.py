"""A hub of models inside the cluster, which misbehaves as it is told: the server of the tests of sources, in a pod."""

import json
from pathlib import Path
from typing import Any

from e2ekit.client import Client
from e2ekit.kubectl import Kubectl
from e2ekit.models import manifest
from e2ekit.pods import script_pod

_SERVER = [Path(__file__).resolve().parents[2] / "sources" / name for name in ("hub_server.py", "hub_fault.py")]
_PORT = 8085
REPO = "test/model"
CLS = {
    "1_Pooling/config.json": '{"word_embedding_dimension": 384, "pooling_mode_cls_token": true, '
    '"pooling_mode_mean_tokens": false}'
}
"""To be published: makes other vectors of the same weights."""


class Hub:
    """The model of the example as a repository. `image` is the operator's, which has it as a package."""

    def __init__(self, kubectl: Kubectl, client: Client, image: str) -> None:
        self._client = client
        self.url, cdn = (f"http://{name}.{kubectl.namespace}.svc:{_PORT}" for name in ("hub", "hub-cdn"))
        source = manifest()["spec"]["model"]["source"]
        server = {path.name: path.read_text(encoding="utf-8") for path in _SERVER}
        files = {**server, "source.json": json.dumps(source)}
        fetch = "python -m trellis_operator fetch --source /scripts/source.json --to /tmp/model"
        serve = f"exec python /scripts/hub_server.py /tmp/model --repo {REPO} --url {self.url} --cdn-url {cdn}"
        kubectl.apply(*script_pod("hub", image, ["sh", "-c", f"{fetch} && {serve}"], files))
        kubectl.run("label", "pod", "hub", "app=hub")
        kubectl.apply(*(_service(name) for name in ("hub", "hub-cdn")))
        kubectl.run("wait", "--for=condition=Ready", "pod/hub", "--timeout=60s")

    def answers(self) -> bool:
        """Whether it serves by now."""
        return self._client.request("GET", f"{self.url}/asked").status == 200

    def fail(self, *faults: dict[str, Any]) -> None:
        """From now on these faults hold, and no others."""
        assert self._client.request("POST", f"{self.url}/faults", list(faults)).status == 204

    def gate(self, token: str) -> None:
        """Only who has this token gets in."""
        assert self._client.request("POST", f"{self.url}/gate", token).status == 204

    def commit(self) -> str:
        """The name of the newest commit."""
        return str(self._client.request("GET", f"{self.url}/api/models/{REPO}/revision/main").json["sha"])

    def publish(self, files: dict[str, str]) -> str:
        """Another commit with these files in place of its own; returns its name. The one before stays."""
        answer = self._client.request("POST", f"{self.url}/publish", files)
        assert answer.status == 200, answer.text
        return answer.text

    def asked(self, path: str) -> list[dict[str, Any]]:
        """The requests for a path that contains this."""
        answer = self._client.request("GET", f"{self.url}/asked")
        return [asked for asked in answer.json if path in asked["path"]]


def source(**more: Any) -> dict[str, Any]:
    """`spec.model` of a model that comes from the hub."""
    return {"source": {"huggingFace": {"repo": REPO, "revision": "main"} | more}}


def _service(name: str) -> dict[str, Any]:
    spec = {"selector": {"app": "hub"}, "ports": [{"port": _PORT}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
