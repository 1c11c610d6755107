"""The logs of the operator and of a download at their loudest: no key, no token, whatever is done with them."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hub_server import HubServer
from monitorkit.api_server import ApiServer, Place
from monitorkit.programs import NAMESPACE, example, gateways, start_operator
from roadkit.program import Programs
from roadkit.waiting import until
from trellis_operator.kinds import EMBEDDING_MODEL, SECRET

pytestmark = pytest.mark.processes

API_KEY, NEXT_KEY = "marker-of-an-api-key", "marker-of-the-next-api-key"
HUB_TOKEN = "hf_marker-of-a-hub-token"
OWN_TOKEN = "marker-of-the-operators-own-token"
_WAIT_S = 60.0


@pytest.fixture
def server() -> Iterator[ApiServer]:
    server = ApiServer()
    yield server
    server.close()


def guarded() -> dict[str, Any]:
    """A model whose gateways ask for keys and whose weights are behind a token."""
    body = example()
    hub = {"repo": "a/b", "revision": "0" * 40, "tokenSecretRef": {"name": "hub", "key": "token"}}
    body["spec"]["model"]["source"] = {"huggingFace": {**hub, "allowFloatingRevision": False}}
    body["spec"]["gateway"]["apiKeysSecretRef"] = {"name": "keys"}
    return body


def put_secret(server: ApiServer, name: str, value: str) -> None:
    data = {"token": base64.b64encode(value.encode()).decode()}
    server.put(Place(SECRET.path(NAMESPACE, name)), {"metadata": {"name": name}, "data": data})


def forms(secret: str) -> set[str]:
    """A secret as it is, and as a Secret holds it."""
    return {secret, base64.b64encode(secret.encode()).decode()}


@pytest.mark.parametrize("form", ["json", "text"])
def test_no_key_and_no_token_is_in_the_log_of_an_operator(programs: Programs, server: ApiServer, form: str) -> None:
    put_secret(server, "keys", API_KEY)
    put_secret(server, "hub", HUB_TOKEN)
    loud = ("--log-level", "debug", "--log-format", form)
    operator = start_operator(programs, server, *loud, body=guarded(), token=OWN_TOKEN)

    def made() -> Any:
        return (server.get(gateways()) or {}).get("metadata", {}).get("annotations")

    before = made()
    put_secret(server, "keys", NEXT_KEY)
    until(lambda: made() != before, "pods are made anew for the next key", _WAIT_S)
    server.delete(Place(SECRET.path(NAMESPACE, "hub")))

    def said() -> str:
        found = server.get(Place(EMBEDDING_MODEL.path(NAMESPACE, guarded()["metadata"]["name"]))) or {}
        return json.dumps(found.get("status"))

    until(lambda: "no Secret hub" in said(), "the status says which Secret is missing", _WAIT_S)
    programs.stop(operator.program)
    log = operator.program.log.read_text(encoding="utf-8")
    assert len(log.splitlines()) > 5
    for secret in (API_KEY, NEXT_KEY, HUB_TOKEN, OWN_TOKEN):
        for text in forms(secret):
            assert text not in log, [line for line in log.splitlines() if text in line]
            assert text not in said()


@pytest.mark.parametrize("token", [HUB_TOKEN, "hf_marker-of-a-wrong-token"])
def test_no_token_is_in_what_a_download_says(programs: Programs, tmp_path: Path, token: str) -> None:
    hub = HubServer()
    hub.token = HUB_TOKEN
    files = {"config.json": b"{}", "tokenizer.json": b"{}", "model.safetensors": bytes(1000)}
    hub.add("test/model", files)
    hub.gated.add("test/model")
    source = tmp_path / "source.json"
    repo = {"repo": "test/model", "revision": hub.commits["test/model"]}
    source.write_text(json.dumps({"huggingFace": repo}), encoding="utf-8")
    command = ["-m", "trellis_operator", "fetch", "--source", str(source), "--to", str(tmp_path / "fetched")]
    program = programs.python("fetch", command, {"HF_ENDPOINT": hub.url, "HF_TOKEN": token})
    assert (program.wait() == 0) is (token == HUB_TOKEN)
    said = program.tail(1000)
    hub.close()
    assert said
    assert token not in said
