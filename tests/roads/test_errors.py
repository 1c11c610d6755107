"""Every row of the error table, on a gateway with a real engine behind it: status, code and all four keys."""

import json
import time
from typing import Any

import pytest
from roadkit.busy import Busy
from roadkit.http import embed, post, request
from roadkit.stack import KEY, Gateway, Stack, Starter

pytestmark = pytest.mark.processes

BAD_FIELDS: list[tuple[dict[str, Any], str]] = [
    ({}, "input"),
    ({"input": None}, "input"),
    ({"input": 3}, "input"),
    ({"input": {"text": "a"}}, "input"),
    ({"input": []}, "input"),
    ({"input": ""}, "input"),
    ({"input": ["a", ""]}, "input[1]"),
    ({"input": ["a", "b", 3]}, "input[2]"),
    ({"input": [[101, 102], []]}, "input[1]"),
    ({"input": ["a", "\ud800"]}, "input[1]"),
    ({"input": "a", "encoding_format": "hex"}, "encoding_format"),
    ({"input": "a", "dimensions": "many"}, "dimensions"),
    ({"input": "a", "truncate": "middle"}, "truncate"),
    ({"input": "a", "normalize": "yes"}, "normalize"),
    ({"input": "a", "prompt_name": "unknown"}, "prompt_name"),
]


@pytest.mark.parametrize(("fields", "param"), BAD_FIELDS)
def test_a_bad_field_is_named(stack: Stack, fields: dict[str, Any], param: str) -> None:
    answer = post(stack.url, {"model": "minilm"} | fields)
    assert answer.status == 400
    assert answer.error["type"] == "invalid_request_error"
    assert answer.error["param"] == param


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'{"input": "\xff", "model": "minilm"}', b"[" * 100_000, b'{"model": "minilm", "input"']
)
def test_a_body_that_is_not_a_request_is_refused(stack: Stack, body: bytes) -> None:
    answer = request("POST", f"{stack.url}/v1/embeddings", body, {"content-type": "application/json"})
    assert answer.status == 400
    assert answer.error["type"] == "invalid_request_error"


@pytest.mark.parametrize("inputs", ["word " * 300, ["short", "word " * 300]])
def test_a_text_that_is_too_long_is_refused_with_its_own_count(stack: Stack, inputs: Any) -> None:
    answer = embed(stack.url, inputs)
    assert (answer.status, answer.error["code"]) == (400, "context_length_exceeded")
    assert answer.error["type"] == "invalid_request_error"
    assert "302" in answer.error["message"]
    assert "256" in answer.error["message"]


def test_too_many_inputs_are_refused(stack: Stack) -> None:
    answer = embed(stack.url, ["a"] * 2049)
    assert (answer.status, answer.error["code"]) == (400, "too_many_inputs")
    assert answer.error["param"] == "input"


@pytest.mark.parametrize(("inputs", "param"), [([101, 30522, 102], "input[1]"), ([[101], [101, -1]], "input[1][1]")])
def test_a_token_outside_the_vocabulary_is_named(stack: Stack, inputs: Any, param: str) -> None:
    answer = embed(stack.url, inputs)
    assert answer.status == 400
    assert answer.error["param"] == param


@pytest.mark.parametrize("dimensions", [1, 383, 385, 100_000])
def test_dimensions_that_the_model_cannot_give_are_refused(stack: Stack, dimensions: int) -> None:
    answer = embed(stack.url, "a", dimensions=dimensions)
    assert (answer.status, answer.error["code"]) == (400, "unsupported_dimensions")
    assert answer.error["param"] == "dimensions"


def test_the_native_dimensions_are_always_accepted(stack: Stack) -> None:
    assert embed(stack.url, "a", dimensions=384).vectors.shape == (1, 384)


@pytest.mark.parametrize("key", [None, "wrong", KEY[:-1], KEY + "x"])
def test_a_missing_or_wrong_key_is_refused(guarded: Gateway, key: str | None) -> None:
    answer = embed(guarded.url, "a", key=key)
    assert (answer.status, answer.error["code"]) == (401, "invalid_api_key")
    assert KEY not in answer.body.decode()


def test_the_right_key_opens_and_health_needs_none(guarded: Gateway) -> None:
    assert embed(guarded.url, "a", key=KEY).status == 200
    for path in ("/healthz", "/readyz", "/metrics"):
        assert request("GET", guarded.url + path).status == 200


def test_an_unknown_model_is_not_found(stack: Stack) -> None:
    answer = embed(stack.url, "a", model="gpt-5")
    assert (answer.status, answer.error["code"]) == (404, "model_not_found")
    assert answer.error["param"] == "model"


def test_an_unknown_route_and_a_wrong_method_have_the_four_keys(stack: Stack) -> None:
    missing = request("POST", f"{stack.url}/v1/nothing", b"{}")
    wrong = request("GET", f"{stack.url}/v1/embeddings")
    assert (missing.status, wrong.status) == (404, 405)
    assert missing.error["type"] == wrong.error["type"] == "invalid_request_error"


def test_a_body_that_is_too_large_is_refused(stack: Stack) -> None:
    answer = embed(stack.url, "x" * (17 * 1024 * 1024))
    assert answer.status == 413
    assert answer.error["type"] == "invalid_request_error"


def test_a_full_queue_refuses_with_both_retry_headers(busy: Busy) -> None:
    with busy.full():
        answer = embed(busy.stack.url, [[101] * 100] * 2)
    assert (answer.status, answer.error["code"]) == (429, "overloaded")
    assert answer.error["type"] == "rate_limit_error"
    assert int(answer.headers["retry-after"]) >= 1
    assert int(answer.headers["retry-after-ms"]) >= 1


def test_a_deadline_that_passes_is_504(starter: Starter, busy: Busy) -> None:
    gateway = starter.gateway([busy.stack.engine], "--request-timeout-seconds", "1")
    with busy.full():
        start = time.monotonic()
        answer = embed(gateway.url, "a")
        waited_s = time.monotonic() - start
    starter.stop(gateway.program)
    assert (answer.status, answer.error["code"]) == (504, "deadline_exceeded")
    assert waited_s >= 1.0


def test_an_engine_that_fails_is_500_and_says_nothing_of_why(busy: Busy) -> None:
    busy.faults.fail_next()
    answer = embed(busy.stack.url, "a")
    assert (answer.status, answer.error["type"]) == (500, "server_error")
    assert "secret" not in answer.body.decode()
    assert embed(busy.stack.url, "a").status == 200


def test_a_vector_that_is_not_finite_is_500_and_never_a_body(busy: Busy) -> None:
    for encoding in ("float", "base64"):
        busy.faults.spoil_next()
        answer = embed(busy.stack.url, "a", encoding_format=encoding)
        assert (answer.status, answer.error["type"]) == (500, "server_error")
        assert b"NaN" not in answer.body
    assert embed(busy.stack.url, "a").status == 200


def test_no_engine_is_503_with_retry_after(starter: Starter) -> None:
    gateway = starter.gateway([], wait=False)
    answer = embed(gateway.url, "a")
    ready = request("GET", f"{gateway.url}/readyz")
    starter.stop(gateway.program)
    assert (answer.status, answer.error["code"]) == (503, "no_engine_ready")
    assert int(answer.headers["retry-after"]) >= 1
    assert ready.status == 503


def test_no_status_is_documented_that_clients_do_not_retry(stack: Stack) -> None:
    schema = json.loads(request("GET", f"{stack.url}/openapi.json").body)
    statuses = set(schema["paths"]["/v1/embeddings"]["post"]["responses"])
    assert {"200", "400", "401", "404", "413", "429", "500", "503", "504"} <= statuses
    assert not statuses & {"422", "424"}
