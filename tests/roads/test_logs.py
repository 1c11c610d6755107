"""The logs of the real programs at their loudest: ids of requests and traces are in them, texts and keys are not."""

import json
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from ivy.surfaces.registry import ROUTES
from roadkit import http
from roadkit.faults import Faults
from roadkit.stack import KEY, Engine, Gateway, Starter
from roadkit.waiting import until

pytestmark = pytest.mark.processes

TEXT = "marker-of-a-text"
WRONG_KEY = "marker-of-a-wrong-key"
LOUD = ("--log-level", "debug")
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
POSTS = [route.path for route in ROUTES if route.method == "POST"]
BODIES: list[bytes] = [
    *(
        json.dumps(body).encode()
        for body in (
            {"model": "minilm", "input": TEXT},
            {"model": "minilm", "input": [TEXT, ""]},
            {"model": "minilm", "input": [[TEXT], [TEXT]]},
            {"model": "minilm", "input": f"{TEXT} " * 400, "truncate": False},
            {"model": "minilm", "input": {TEXT: TEXT}},
            {"model": TEXT, "input": TEXT},
            {"model": "minilm", "input": TEXT, "encoding_format": TEXT, "dimensions": TEXT, "input_type": TEXT},
            {"inputs": TEXT},
            {"inputs": [TEXT, TEXT], "truncate": TEXT},
            {"inputs": {"source_sentence": TEXT, "sentences": [TEXT]}},
            {"ids": [[101, 102], TEXT]},
            {"texts": [TEXT], "model": "minilm", "input_type": "search_document", "embedding_types": ["float"]},
            {"query": TEXT, "documents": [TEXT, TEXT], "model": "minilm"},
            {"query": TEXT, "texts": [TEXT, TEXT]},
            {"text_1": TEXT, "text_2": [TEXT], "model": "minilm"},
        )
    ),
    f'{{"input": "{TEXT}"'.encode(),
    TEXT.encode(),
    b"\xff\xfe" + TEXT.encode(),
]


@dataclass(frozen=True)
class Loud:
    """Two gateways that ask for a key and write in different formats, and the engine of both, all at debug."""

    engine: Engine
    gateways: tuple[Gateway, Gateway]
    faults: Faults

    def logs(self) -> list[str]:
        programs = (self.engine.program, *(gateway.program for gateway in self.gateways))
        return [program.log.read_text(encoding="utf-8") for program in programs]


@pytest.fixture(scope="module")
def loud(starter: Starter, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loud]:
    folder = tmp_path_factory.mktemp("loud")
    keys = folder / "keys.txt"
    keys.write_text(f"{KEY}\n", encoding="utf-8")
    faults = Faults(folder)
    engine = starter.engine(*LOUD, "--log-format", "json", code=faults.code, name="engine-loud")
    json_lines, text = (_gateway(starter, engine, keys, log_format) for log_format in ("json", "text"))
    yield Loud(engine, (json_lines, text), faults)
    starter.stop(json_lines.program, text.program, engine.program)


def _gateway(starter: Starter, engine: Engine, keys: Path, log_format: str) -> Gateway:
    # Decides nothing by itself and sends nothing: trace ids are those of callers.
    traces = ("--trace-endpoint", "http://127.0.0.1:9", "--trace-sample-percent", "0")
    flags = (*LOUD, "--log-format", log_format, "--api-keys-file", str(keys), *traces)
    return starter.gateway([engine], *flags)


def ask(gateway: Gateway, path: str, body: bytes | None, request_id: str, key: str = KEY) -> int:
    headers = {
        "content-type": "application/json",
        "authorization": f"Bearer {key}",
        "x-request-id": request_id,
        "traceparent": f"00-{TRACE}-00f067aa0ba902b7-00",
    }
    return http.request("GET" if body is None else "POST", f"{gateway.url}{path}", body, headers).status


def speak(gateway: Gateway, data: bytes) -> bytes:
    """Send bytes that are no HTTP, and read what comes back."""
    parts = urlsplit(gateway.url)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        connection.sendall(data)
        return connection.recv(65536)


def test_no_text_and_no_key_is_in_any_log_and_every_request_is(loud: Loud) -> None:
    for gateway in loud.gateways:
        statuses = {ask(gateway, path, body, f"id{path}") for path in POSTS for body in BODIES}
        assert {200, 400} <= statuses
        assert ask(gateway, "/v1/embeddings", BODIES[0], "wrong-key", WRONG_KEY) == 401
        assert ask(gateway, f"/{TEXT}", None, "no-route") == 404
        assert ask(gateway, f"/v1/models/{TEXT}", None, "no-model") == 404
        loud.faults.fail_next()
        assert ask(gateway, "/v1/embeddings", BODIES[0], "a-failed-step") == 500
        loud.faults.spoil_next()
        assert ask(gateway, "/v1/embeddings", BODIES[0], "a-spoilt-row") == 500
        assert b" 400 " in speak(gateway, f"{TEXT} {KEY}\r\n\r\n".encode()).splitlines()[0]
    engine_log, json_log, text_log = loud.logs()
    for log in (engine_log, json_log, text_log):
        for secret in (TEXT, KEY, WRONG_KEY):
            assert secret not in log, [line for line in log.splitlines() if secret in line]
    for name in (*(f"id{path}" for path in POSTS), "wrong-key", "no-route", "no-model", "a-spoilt-row"):
        assert f'"id":"{name}"' in json_log
        assert f'id="{name}"' in text_log


def test_lines_of_gateway_and_engine_have_the_ids_of_the_request_and_its_trace(loud: Loud) -> None:
    gateway = loud.gateways[0]
    loud.faults.fail_next()
    assert ask(gateway, "/v1/embeddings", BODIES[0], "followed") == 500

    def failed() -> dict[str, Any]:
        return one(loud.engine, "a call failed: step failed: RuntimeError: secret words of the engine", "followed")

    until(failed, "the engine says which call failed")
    assert failed()["trace_id"] == TRACE
    ended = one(loud.engine, "a call ended", "followed")
    assert (ended["code"], ended["trace_id"], ended["sequences"]) == ("INTERNAL", TRACE, 1)
    until(lambda: one(gateway, "request", "followed"), "the gateway has its line")
    assert one(gateway, "request", "followed")["trace_id"] == TRACE
    assert one(gateway, "a request failed", "followed")["trace_id"] == TRACE


def one(program: Engine | Gateway, message: str, request_id: str) -> dict[str, Any]:
    """The line with this message of this request; empty where there is none."""
    log = program.program.log.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    return next((line for line in lines if (line["message"], line.get("id")) == (message, request_id)), {})
