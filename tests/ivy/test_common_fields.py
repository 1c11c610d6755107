"""Fields that mean the same on every route: the model's name, the priority, the prompt, the norm. None is ignored."""

import json

import numpy as np
import pytest
from ivy.embedding import EmbeddingRules
from ivy.surfaces.registry import ROUTES
from trellis_wire.v1.packing import unpack_ids

RULES = EmbeddingRules(late_chunking=True, prompts={"query": "query: ", "passage": "passage: "})
PAIR = {"source_sentence": "a", "sentences": ["b"]}
BODIES = {
    "/v1/embeddings": {"input": "a"},
    "/v1/contextualizedembeddings": {"inputs": [["a", "b"]]},
    "/v2/embed": {"texts": ["a"]},
    "/embed": {"inputs": "a"},
    "/": {"inputs": "a"},
    "/similarity": {"inputs": PAIR},
    "/v1/rerank": {"query": "a", "documents": ["b"]},
    "/rerank": {"query": "a", "texts": ["b"]},
    "/v1/score": {"text_1": "a", "text_2": "b"},
}
"""A body of each route that a model of vectors works for."""
OTHERS = {
    "/embed_sparse": {"inputs": "a"},
    "/embed_all": {"inputs": "a"},
    "/predict": {"inputs": "a"},
    "/tokenize": {"inputs": "a"},
    "/decode": {"ids": [101]},
}


@pytest.fixture
async def served(serve, engine):
    return await serve(engine, embedding=RULES)


def sent(engine):
    return [ids.tolist() for call in engine.calls for ids in unpack_ids(call.token_ids, call.lengths)]


async def test_every_route_that_engines_work_for_describes_both(served):
    async with served.client.get(f"{served.url}/openapi.json") as response:
        schemas = json.loads(await response.text())["components"]["schemas"]
    for route in ROUTES:
        if route.is_work:
            takes = route.operation["requestBody"]["content"]["application/json"]["schema"]
            for each in takes.get("anyOf", [takes]):
                fields = schemas[each["$ref"].rpartition("/")[2]]["properties"]
                assert {"model", "priority"} <= fields.keys(), route.path


@pytest.mark.parametrize("path", [*BODIES, *OTHERS])
async def test_a_model_that_is_not_served_is_not_found_on_any_route(served, engine, path):
    answer = await served.post(path, **(BODIES | OTHERS)[path], model="gpt")
    assert (answer.status, answer.body["error"]["code"]) == (404, "model_not_found")
    assert answer.body["error"]["param"] == "model"
    assert engine.calls == []


@pytest.mark.parametrize("path", [*BODIES, "/tokenize", "/decode"])
async def test_a_model_that_is_served_may_be_named_on_any_route(served, path):
    answer = await served.post(path, **(BODIES | OTHERS)[path], model="all-minilm-l6-v2")
    assert answer.status == 200, answer.body


@pytest.mark.parametrize("path", ["/embed", "/similarity", "/tokenize"])
async def test_the_suffix_of_a_model_chooses_the_prompt(served, engine, path):
    asked = {**(BODIES | OTHERS)[path], "model": "minilm-query"}
    plain = await served.post("/tokenize", inputs="query: a")
    answer = await served.post(path, **asked)
    assert answer.status == 200, answer.body
    found = [token["id"] for token in answer.body[0]] if path == "/tokenize" else sent(engine)[0]
    assert found == [token["id"] for token in plain.body[0]]


@pytest.mark.parametrize("path", BODIES)
async def test_a_priority_goes_with_every_call_to_an_engine(served, engine, path):
    answer = await served.post(path, **BODIES[path], model="minilm", priority=7)
    assert answer.status == 200, answer.body
    assert {call.priority for call in engine.calls} == {7}


@pytest.mark.parametrize("path", BODIES)
async def test_without_a_priority_a_request_is_of_the_first(served, engine, path):
    answer = await served.post(path, **BODIES[path], model="minilm", priority=None)
    assert answer.status == 200, answer.body
    assert {call.priority for call in engine.calls} == {0}


@pytest.mark.parametrize("path", [*BODIES, "/predict", "/embed_sparse", "/embed_all"])
@pytest.mark.parametrize("priority", [-1, 1000, "high", 0.5])
async def test_a_priority_that_is_none_is_refused_by_name(served, path, priority):
    answer = await served.post(path, **(BODIES | OTHERS)[path], model="minilm", priority=priority)
    assert (answer.status, answer.body["error"]["param"]) == (400, "priority")


@pytest.mark.parametrize("path", ["/v1/contextualizedembeddings", "/v2/embed"])
async def test_a_prompt_may_be_named(served, engine, path):
    await served.post(path, **BODIES[path], model="minilm", prompt_name="query")
    await served.post(path, **BODIES[path], model="minilm", input_type="query")
    first, second = sent(engine)
    assert first == second
    answer = await served.post(path, **BODIES[path], model="minilm", prompt_name="haiku")
    assert (answer.status, answer.body["error"]["param"]) == (400, "prompt_name")
    answer = await served.post(path, **BODIES[path], model="minilm", prompt_name="query", input_type="query")
    assert (answer.status, answer.body["error"]["param"]) == (400, "prompt_name")


@pytest.mark.parametrize("path", ["/v1/contextualizedembeddings", "/v2/embed"])
async def test_a_norm_may_be_asked_for_or_not(served, engine, path):
    for asked in (True, False, None):
        answer = await served.post(path, **BODIES[path], model="minilm", normalize=asked)
        assert answer.status == 200, answer.body
    assert [call.normalize if call.HasField("normalize") else None for call in engine.calls] == [True, False, None]


async def test_windows_of_a_document_are_normalised_as_asked(served, engine):
    long = {"inputs": [["word " * 300, "rose " * 100]], "model": "minilm"}
    rows = []
    for asked in (True, False):
        answer = await served.post("/v1/contextualizedembeddings", **long, normalize=asked)
        assert answer.status == 200, answer.body
        rows.append(np.array([each["embedding"] for each in answer.body["data"][0]["data"]]))
    assert all(call.normalize is False for call in engine.calls)
    np.testing.assert_allclose(np.linalg.norm(rows[0], axis=1), 1, rtol=1e-6)
    assert abs(np.linalg.norm(rows[1], axis=1) - 1).max() > 0.01
    np.testing.assert_allclose(rows[1] / np.linalg.norm(rows[1], axis=1, keepdims=True), rows[0], rtol=1e-5)
