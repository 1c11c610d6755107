"""What the OpenAPI document says of the routes of vectors is what they take and give."""

import json

import jsonschema
import pytest
from ivy.embedding import EmbeddingRules

MODEL = {"model": "minilm"}
ROUTES = {
    "/v2/embed": [
        {**MODEL, "texts": ["a"]},
        {**MODEL, "texts": ["a"], "embedding_types": ["float", "bfloat16", "ubinary", "base64"], "max_tokens": 9},
        {**MODEL, "inputs": [{"content": [{"type": "text", "text": "a"}]}], "truncate": "NONE"},
        {**MODEL, "texts": ["a"], "images": [], "inputs": None},
        {**MODEL, "texts": ["a"], "embedding_types": ["int4"]},
        {**MODEL, "texts": "a"},
        {**MODEL, "texts": ["a"], "max_tokens": 0},
        {"texts": ["a"]},
    ],
    "/embed": [
        {"inputs": "a"},
        {"inputs": ["a"], "normalize": None, "truncate": True, "truncation_direction": "Left"},
        {"inputs": [[1]], "dimensions": 4},
        {"inputs": ["a", 1]},
        {"inputs": "a", "truncation_direction": "up"},
        {},
    ],
    "/similarity": [
        {"inputs": {"source_sentence": "a", "sentences": ["b"]}},
        {"inputs": {"source_sentence": "a", "sentences": ["b"]}, "parameters": {"truncate": True}},
        {"inputs": {"source_sentence": "a"}},
        {"inputs": ["a", "b"]},
    ],
    "/tokenize": [
        {"inputs": "a"},
        {"inputs": "a", "add_special_tokens": None},
        {"inputs": ["a"], "add_special_tokens": False},
        {"inputs": [1]},
    ],
    "/decode": [
        {"ids": [1]},
        {"ids": [[1], [2]], "skip_special_tokens": False},
        {"ids": [1], "skip_special_tokens": None},
        {"ids": [-1]},
        {"ids": [1, [2]]},
        {"ids": []},
        {"ids": "a"},
    ],
    "/v1/contextualizedembeddings": [
        {**MODEL, "inputs": [["a", "b"]], "output_dtype": "float16"},
        {**MODEL, "input": [["a"]], "encoding_format": "base64_binary"},
        {**MODEL, "inputs": ["a"]},
        {**MODEL, "inputs": [["a"]], "output_dimension": 0},
        {**MODEL, "inputs": [["a"]], "truncate": "none"},
        {**MODEL, "inputs": [["a"]], "truncate": "CHUNK", "truncation": None},
        {**MODEL, "inputs": [["a"]], "truncate": "middle"},
    ],
}


def _validator(document: dict, schema: dict) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({**schema, "components": document["components"]})


@pytest.mark.parametrize(("path", "body"), [(path, body) for path, bodies in ROUTES.items() for body in bodies])
async def test_the_document_allows_what_the_route_takes_and_describes_what_it_gives(serve, engine, path, body):
    gateway = await serve(engine, embedding=EmbeddingRules(late_chunking=True))
    async with gateway.client.get(f"{gateway.url}/openapi.json") as response:
        document = json.loads(await response.text())
    operation = document["paths"][path]["post"]
    takes = operation["requestBody"]["content"]["application/json"]["schema"]
    answer = await gateway.post(path, **body)
    assert _validator(document, takes).is_valid(body) == (answer.status == 200), answer.body
    gives = operation["responses"][str(answer.status)]["content"]["application/json"]["schema"]
    _validator(document, gives).validate(answer.body)


@pytest.mark.parametrize(
    "path",
    [
        *("/v1/embeddings", "/v1/contextualizedembeddings", "/v2/embed"),
        *("/embed", "/", "/similarity", "/tokenize", "/decode"),
    ],
)
async def test_the_example_of_the_document_works_whatever_the_model_is_called(serve, engine, path):
    gateway = await serve(engine, served_names=("other",), embedding=EmbeddingRules(late_chunking=True))
    async with gateway.client.get(f"{gateway.url}/openapi.json") as response:
        document = json.loads(await response.text())
    example = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["example"]
    answer = await gateway.post(path, **example)
    assert answer.status == 200, answer.body


async def test_info_is_what_the_document_says(gateway):
    async with gateway.client.get(f"{gateway.url}/openapi.json") as response:
        document = json.loads(await response.text())
    async with gateway.client.get(f"{gateway.url}/info") as response:
        body = await response.json()
    schema = document["paths"]["/info"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    _validator(document, schema).validate(body)
    assert set(body) == set(document["components"]["schemas"]["InfoAnswer"]["properties"])
