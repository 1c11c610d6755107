"""What stands around the embeddings: models, health, metrics, documents, ids of requests, the log."""

import json
import logging

import jsonschema
import pytest
from ivy.client.endpoint import Endpoint
from ivy.errors import leaves
from ivy.logs import Lines
from ivy.metrics import OTHER
from ivy.surfaces.registry import PATHS
from ivy.timing import STAGES


async def get(gateway, path, **more):
    async with gateway.client.get(gateway.url + path, **more) as response:
        return response.status, await response.text(), response.headers


async def test_the_served_names_are_the_models(gateway):
    status, text, _ = await get(gateway, "/v1/models")
    assert status == 200
    assert [model["id"] for model in json.loads(text)["data"]] == ["minilm", "all-minilm-l6-v2"]
    assert json.loads((await get(gateway, "/v1/models/minilm"))[1])["object"] == "model"


async def test_every_family_and_label_is_at_zero_from_the_start(serve):
    gateway = await serve(ready=False)
    text = (await get(gateway, "/metrics"))[1]
    for line in (
        *(
            f'requests_total{{route="{route}",status="{kind.status}"}}'
            for route in (*PATHS, OTHER)
            for kind in leaves()
        ),
        *(f'stage_seconds_count{{stage="{stage}"}}' for stage in STAGES),
        'rejections_total{room="tokens"}',
        'rejections_total{room="bytes"}',
        'engine_errors_total{code="UNAVAILABLE"}',
        'ejections_total{engine="127.0.0.1:1"}',
        'endpoint_up{engine="127.0.0.1:1"}',
        'endpoint_outstanding_tokens{engine="127.0.0.1:1"}',
        "tokens_total",
        "inputs_total",
        "retries_total",
        "retries_refused_total",
        "cancelled_requests_total",
        "in_flight_tokens",
        "in_flight_body_bytes",
    ):
        assert f"trellis_gateway_{line} 0.0\n" in text


async def test_requests_tokens_and_stages_are_counted(gateway):
    tokens = (await gateway.embed(input=["one", "two"])).body["usage"]["total_tokens"]
    assert await gateway.metric('trellis_gateway_requests_total{route="/v1/embeddings",status="200"}') == 1
    assert await gateway.metric("trellis_gateway_tokens_total") == tokens
    assert await gateway.metric("trellis_gateway_inputs_total") == 2
    assert await gateway.metric('trellis_gateway_stage_seconds_count{stage="forward"}') == 1
    assert await gateway.metric("trellis_gateway_requests_in_flight") == 1


async def test_paths_of_callers_make_no_label_values(gateway):
    await get(gateway, "/a/path/of/somebody")
    assert await gateway.metric('trellis_gateway_requests_total{route="other",status="404"}') == 1
    assert "somebody" not in (await get(gateway, "/metrics"))[1]


@pytest.mark.parametrize(("given", "kept"), [("abc-123", True), ("x" * 200, False), ("a b", False), ("", False)])
async def test_a_sane_request_id_is_kept_and_another_one_is_made(gateway, given, kept):
    made = (await get(gateway, "/healthz", headers={"x-request-id": given}))[2]["x-request-id"]
    assert (made == given) == kept
    assert made


async def test_the_log_has_the_request_and_none_of_its_texts_or_keys(serve, engine, caplog, capfd):
    gateway = await serve(engine, api_keys=(b"top-secret-key",), log_level="info")
    caplog.set_level(logging.INFO)
    engine.failed_rows = (0,)
    headers = {"authorization": "Bearer top-secret-key", "x-request-id": "the-id"}
    for body in (
        {"input": "a private text"},
        {"input": ["a private text", ""]},
        {"input": "a private text", "model": 7},
    ):
        await gateway.raw(json.dumps({"model": "minilm", **body}), headers=headers)
    lines = [json.loads(line) for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    lines += [json.loads(Lines().format(record)) for record in caplog.records]
    seen = [line for line in lines if line["message"] == "request"]
    assert [line["status"] for line in seen] == [500, 400, 400]
    assert {line["id"] for line in seen} == {"the-id"}
    assert {line["route"] for line in seen} == {"/v1/embeddings"}
    whole = json.dumps(lines)
    assert "private" not in whole
    assert "secret" not in whole


def test_a_fault_is_logged_by_its_place_and_not_by_its_words():
    try:
        {}["a private text"]
    except KeyError as error:
        record = logging.LogRecord("x", logging.ERROR, "", 0, "failed", None, (type(error), error, error.__traceback__))
    line = json.loads(Lines().format(record))
    assert line["error"] == "KeyError"
    assert "test_surface" in line["trace"][0]
    assert "private" not in json.dumps(line)


async def test_the_docs_work_without_a_network(gateway):
    status, text, headers = await get(gateway, "/docs")
    assert f"curl {gateway.url}/v1/embeddings " in text
    assert status == 200
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert "<script" not in text
    assert "src=" not in text
    for route in PATHS:
        assert f"<code>{route}</code>" in text


async def test_the_docs_show_where_a_key_goes_if_there_are_keys(serve, engine, gateway):
    keyed = await serve(engine, api_keys=(b"secret",))
    asked = keyed.client.get(f"{keyed.url}/docs", headers={"authorization": "Bearer secret"})
    async with asked as response:
        with_keys = await response.text()
    without = (await get(gateway, "/docs"))[1]
    shown = "-H &quot;authorization: Bearer $API_KEY&quot;"
    assert with_keys.count(shown) == with_keys.count("curl ") > 5
    assert shown not in without
    assert "secret" not in with_keys


async def test_the_openapi_document_describes_every_route_and_its_errors(gateway):
    document = json.loads((await get(gateway, "/openapi.json"))[1])
    assert set(document["paths"]) == set(PATHS)
    answers = document["paths"]["/v1/embeddings"]["post"]["responses"]
    assert set(answers) == {"200", "400", "401", "404", "405", "408", "413", "429", "500", "503", "504"}
    assert {"retry-after", "retry-after-ms"} <= set(answers["429"]["headers"])


def _validator(document: dict, name: str) -> jsonschema.Draft202012Validator:
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize(
    "fields",
    [
        {"input": "a"},
        {"input": ["a", "b"]},
        {"input": [1, 2]},
        {"input": [[1], [2]]},
        {"input": ["a", 1]},
        {"input": []},
        {"input": [[]]},
        {"input": ""},
        {"input": [-1]},
        {"input": [True]},
        {"input": 1.5},
        {"input": "a", "truncate": True},
        {"input": "a", "truncate": "middle"},
        {"input": "a", "encoding_format": "base64_int8"},
        {"input": "a", "encoding_format": "hex"},
        {"input": "a", "dimensions": 4},
        {"input": "a", "dimensions": 0},
        {"input": "a", "normalize": None},
        {},
    ],
)
async def test_the_document_allows_exactly_what_the_route_takes(gateway, fields):
    document = json.loads((await get(gateway, "/openapi.json"))[1])
    body = {"model": "minilm", **fields}
    allowed = _validator(document, "EmbeddingsBody").is_valid(body)
    answer = await gateway.raw(json.dumps(body))
    assert allowed == (answer.status == 200), answer.body
    _validator(document, "EmbeddingsAnswer" if allowed else "ErrorAnswer").validate(answer.body)


async def test_a_draining_gateway_is_not_ready_and_still_answers(gateway):
    gateway.gateway.life.draining = True
    assert (await get(gateway, "/readyz"))[0] == 503
    answer = await gateway.embed(input="a")
    assert answer.status == 200
    assert answer.headers["connection"] == "close"


def test_an_endpoint_can_be_read_in_an_assertion():
    assert "127.0.0.1:1" in repr(Endpoint("127.0.0.1:1"))
