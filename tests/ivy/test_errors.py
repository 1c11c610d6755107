"""Every row of the error table, over HTTP."""

import gzip

import grpc
import pytest

LONG = "word " * 1000


def refused(answer, status: int, *, param: str | None = None, code: str | None = None) -> str:
    assert answer.status == status, answer.body
    assert list(answer.body) == ["error"]
    error = answer.body["error"]
    assert sorted(error) == ["code", "message", "param", "type"]
    assert (error["param"], error["code"]) == (param, code)
    assert error["type"]
    return error["message"]


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": ""}, "input"),
        ({"input": ["a", ""]}, "input[1]"),
        ({"input": []}, "input"),
        ({"input": [[]]}, "input[0]"),
        ({"input": [[1], []]}, "input[1]"),
        ({"input": None}, "input"),
        ({"input": {"a": 1}}, "input"),
        ({"input": 7}, "input"),
        ({"input": [1, True]}, "input[1]"),
        ({"input": [1.5]}, "input[0]"),
        ({"input": [[1, 2.0]]}, "input[0][1]"),
        ({"input": ["a", 1]}, "input[1]"),
        ({"input": ["a", None]}, "input[1]"),
        ({"input": [[1], "a"]}, "input[1]"),
        ({"input": [-1]}, "input[0]"),
        ({"input": [10**40]}, "input[0]"),
        ({"input": "a", "dimensions": 0}, "dimensions"),
        ({"input": "a", "dimensions": "8"}, "dimensions"),
        ({"input": "a", "encoding_format": "hex"}, "encoding_format"),
        ({"input": "a", "truncate": "middle"}, "truncate"),
        ({"input": "a", "normalize": "yes"}, "normalize"),
        ({"input": "a", "input_type": "poem"}, "input_type"),
        ({"input": "a", "prompt_name": "query"}, "prompt_name"),
        ({"input": "a", "prompt_name": "a", "input_type": "query"}, "prompt_name"),
        ({"input": "a", "model": None}, "model"),
    ],
)
async def test_a_wrong_field_is_named(gateway, fields, param):
    refused(await gateway.embed(**fields), 400, param=param)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"", None),
        (b"{", None),
        (b"[]", None),
        (b"null", None),
        (b'"text"', None),
        (b'{"input": "a"}', "model"),
        (b'{"model": "minilm"}', "input"),
        (b'{"model": "minilm", "input": NaN}', None),
        (b'{"model": "minilm", "input": [1e999]}', "input[0]"),
        (b'{"model": "minilm", "input": "\\ud800"}', "input"),
        (b'{"model": "minilm", "input": ["a", "\\udc00 b"]}', "input[1]"),
        (b'{"model": "minilm", "input": "\xff"}', None),
        (b'{"model": "minilm", "input": "a", "other": "\xff"}', None),
        (b'{"model": "minilm", "input": ' + b"[" * 100_000, "input[0][0]"),
        (b'{"model": "minilm", "other": ' + b"[" * 100_000, None),
        (b'{"model": "minilm", "input": "a"} and more', None),
    ],
)
async def test_a_body_that_is_no_request_is_refused(gateway, body, param):
    refused(await gateway.raw(body), 400, param=param)


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "nonsense", "application/x-www-form-urlencoded"])
async def test_json_is_read_whatever_the_content_type_says(gateway, kind):
    answer = await gateway.raw(b'{"model": "minilm", "input": "a"}', headers={"content-type": kind})
    assert answer.status == 200


async def test_a_body_in_another_charset_is_refused(gateway):
    body = '{"model": "minilm", "input": "é"}'.encode("latin-1")
    refused(await gateway.raw(body, headers={"content-type": "application/json; charset=latin-1"}), 400)


async def test_a_body_that_is_not_compressed_as_it_says_is_refused(gateway):
    refused(await gateway.raw(b"no gzip", headers={"content-encoding": "gzip"}), 400)


async def test_an_input_that_is_too_long_is_told_its_length_in_the_models_tokens(gateway):
    message = refused(await gateway.embed(input=["a", LONG]), 400, param="input[1]", code="context_length_exceeded")
    assert "256" in message
    assert "1002" in message
    assert message.endswith("ask for truncate 'end', 'start' or 'chunk'")
    refused(await gateway.embed(input=list(range(1, 300))), 400, param="input", code="context_length_exceeded")


async def test_too_many_inputs_are_refused(serve, engine):
    gateway = await serve(engine, max_inputs=3)
    assert (await gateway.embed(input=["a"] * 3)).status == 200
    message = refused(await gateway.embed(input=["a"] * 4), 400, param="input", code="too_many_inputs")
    assert "4" in message
    assert "3" in message


@pytest.mark.parametrize(
    ("ids", "param"),
    [
        ([5, 30522], "input[1]"),
        ([[5], [1, 2, 40000]], "input[1][2]"),
        ([5, -1], "input[1]"),
        ([[-(2**63)]], "input[0][0]"),
    ],
)
async def test_a_token_id_outside_of_the_vocabulary_is_named(gateway, ids, param):
    assert "0 to 30521" in refused(await gateway.embed(input=ids), 400, param=param)


async def test_dimensions_that_the_model_cannot_give_are_refused(gateway):
    message = refused(
        await gateway.embed(input="a", dimensions=5), 400, param="dimensions", code="unsupported_dimensions"
    )
    assert "4, 8" in message


async def test_an_unknown_prompt_is_answered_with_those_that_there_are(gateway):
    assert "none" in refused(await gateway.embed(input="a", prompt_name="query"), 400, param="prompt_name")


async def test_an_unknown_model_is_not_found(gateway):
    refused(await gateway.embed(input="a", model="gpt"), 404, param="model", code="model_not_found")
    refused(await gateway.raw(None, "GET", "/v1/models/gpt"), 404, param="model", code="model_not_found")


async def test_unknown_routes_and_methods_have_the_same_shape(gateway):
    refused(await gateway.raw(None, "GET", "/nowhere"), 404, code="not_found")
    answer = await gateway.raw(None, "GET", "/v1/embeddings")
    refused(answer, 405, code="method_not_allowed")
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_that_is_too_large_is_refused(serve, engine, chunked):
    gateway = await serve(engine, max_body_bytes=1024)

    async def parts():
        for _ in range(64):
            yield b" " * 64

    refused(await gateway.raw(parts() if chunked else b" " * 4096), 413, code="body_too_large")


async def test_a_small_body_that_unpacks_to_a_large_one_is_refused(serve, engine):
    gateway = await serve(engine, max_body_bytes=4096)
    bomb = gzip.compress(b" " * 1_000_000)
    assert len(bomb) < 4096
    refused(await gateway.raw(bomb, headers={"content-encoding": "gzip"}), 413, code="body_too_large")


async def test_without_a_key_nothing_but_health_and_metrics_is_open(serve, engine):
    gateway = await serve(engine, api_keys=(b"first", b"second"))
    for path in ("/v1/models", "/docs", "/openapi.json", "/nowhere"):
        answer = await gateway.raw(None, "GET", path)
        refused(answer, 401, code="invalid_api_key")
        assert answer.headers["www-authenticate"] == "Bearer"
    for path in ("/healthz", "/readyz", "/metrics"):
        async with gateway.client.get(gateway.url + path) as response:
            assert response.status == 200
    for header in ("Bearer third", "Bearer", "Basic first", "first", "Bearer firs", "Bearer first second"):
        wrong = {"authorization": header}
        refused(await gateway.raw(b"{}", headers=wrong), 401, code="invalid_api_key")
    for key in ("first", "second"):
        right = {"authorization": f"Bearer {key}"}
        assert (await gateway.raw(b'{"model":"minilm","input":"a"}', headers=right)).status == 200


async def test_without_an_engine_the_answer_is_503_and_says_when_to_come_again(serve):
    gateway = await serve(ready=False)
    answer = await gateway.embed(input="a")
    refused(answer, 503, code="no_engine_ready")
    assert int(answer.headers["retry-after"]) >= 1
    assert int(answer.headers["retry-after-ms"]) >= 1
    refused(await gateway.raw(None, "GET", "/readyz"), 503, code="no_engine_ready")
    assert (await gateway.raw(None, "GET", "/healthz")).status == 200


async def test_an_engine_that_takes_too_long_is_504(serve, engine):
    gateway = await serve(engine, request_timeout_s=0.2)
    engine.gate.clear()
    refused(await gateway.embed(input="a"), 504, code="deadline_exceeded")


async def test_a_vector_that_is_not_finite_fails_the_request(gateway, engine):
    engine.failed_rows = (1,)
    refused(await gateway.embed(input=["a", "b"]), 500, code="engine_failure")


@pytest.mark.parametrize("dimensions", [4, 16])
async def test_an_answer_of_another_size_than_asked_fails_the_request(gateway, engine, dimensions):
    engine.said_dimensions = dimensions
    refused(await gateway.embed(input="a"), 500, code="engine_failure")


@pytest.mark.parametrize(("code", "status"), [("INTERNAL", 500), ("UNKNOWN", 500), ("INVALID_ARGUMENT", 500)])
async def test_what_an_engine_says_of_its_failure_is_not_shown(gateway, engine, code, status):
    engine.error = grpc.StatusCode[code]
    assert "secret" not in refused(await gateway.embed(input="a"), status, code="engine_failure")
    engine.error = None
    assert (await gateway.embed(input="a")).status == 200


async def test_an_engine_without_room_is_429(gateway, engine):
    engine.error = grpc.StatusCode.RESOURCE_EXHAUSTED
    answer = await gateway.embed(input="a")
    refused(answer, 429, code="overloaded")
    assert int(answer.headers["retry-after-ms"]) > 0


@pytest.mark.parametrize("expected", ["100-continue", "200-ok"])
async def test_whatever_a_client_expects_it_gets_an_answer_with_an_id(gateway, expected):
    async with gateway.client.post(
        gateway.url + "/v1/embeddings", json={"model": "minilm", "input": ""}, headers={"expect": expected}
    ) as response:
        assert response.headers["x-request-id"]
        assert response.status == 400
        assert (await response.json())["error"]["param"] == "input"


@pytest.mark.parametrize("headers", [{"content-encoding": "br"}, {"x-long": "a" * 9000}])
async def test_what_the_server_cannot_read_as_a_request_is_400_in_plain_text(gateway, headers):
    async with gateway.client.post(gateway.url + "/v1/embeddings", data=b"{}", headers=headers) as response:
        assert response.status == 400
        assert response.content_type == "text/plain"
        assert "x-request-id" not in response.headers
