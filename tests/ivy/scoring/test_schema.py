"""What the OpenAPI document says of bodies and answers, against what the routes take and give."""

import json

import jsonschema
import pytest


def validator(document: dict, schema: dict) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({**schema, "components": document["components"]})


async def described(served):
    async with served.client.get(f"{served.url}/openapi.json") as response:
        return json.loads(await response.text())


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/rerank", {"query": "a", "documents": ["b", {"text": "c"}]}),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "top_n": 1, "return_documents": True}),
        ("/v1/rerank", {"query": "a", "texts": ["b"], "return_text": True, "truncate": True}),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "truncate": "END", "max_tokens_per_doc": 2}),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "return_documents": None, "raw_scores": None}),
        ("/v1/rerank", {"query": "a", "texts": ["b"], "return_text": None, "raw_scores": None, "model": "ranker"}),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "truncate": "middle"}),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "top_n": 0}),
        ("/v1/rerank", {"query": "a", "documents": ["b"], "top_n": True}),
        ("/v1/rerank", {"query": "a", "documents": [1]}),
        ("/v1/rerank", {"query": "a"}),
        ("/v1/rerank", {"query": "", "documents": ["b"]}),
        ("/v1/rerank", {"query": "a", "documents": []}),
        ("/v1/rerank", {"query": "a", "texts": []}),
        ("/v1/score", {"text_1": "a", "text_2": "b"}),
        ("/v1/score", {"text_1": ["a"], "text_2": ["b", "c"], "raw_scores": True}),
        ("/v1/score", {"text_1": "a", "text_2": []}),
        ("/v1/score", {"text_1": "", "text_2": "b"}),
        ("/v1/score", {"text_1": [""], "text_2": "b"}),
        ("/v1/score", {"text_1": "a", "text_2": 1}),
        ("/predict", {"inputs": "a"}),
        ("/predict", {"inputs": "a", "raw_scores": None}),
        ("/v1/score", {"text_1": "a", "text_2": "b", "raw_scores": None}),
        ("/predict", {"inputs": ["a"]}),
        ("/predict", {"inputs": ["a", ""]}),
        ("/predict", {"inputs": [["a"], ["b", "c"]]}),
        ("/predict", {"inputs": ["a", "b", "c"]}),
        ("/predict", {"inputs": ["a", ["b"]]}),
        ("/predict", {"inputs": [["a", "b", "c"]]}),
        ("/predict", {"inputs": [[]]}),
        ("/predict", {"inputs": ""}),
        ("/predict", {"inputs": []}),
    ],
)
async def test_the_document_allows_exactly_what_the_routes_take_and_describes_what_they_give(scorer, path, body):
    document = await described(scorer.served)
    operation = document["paths"][path]["post"]
    allowed = validator(document, operation["requestBody"]["content"]["application/json"]["schema"]).is_valid(body)
    answer = await scorer.post(path, **body)
    assert allowed == (answer.status == 200), answer.body
    schema = operation["responses"][str(answer.status)]["content"]["application/json"]["schema"]
    validator(document, schema).validate(answer.body)


async def test_the_page_of_routes_shows_bodies_of_several_shapes(scorer):
    async with scorer.served.client.get(f"{scorer.url}/docs") as response:
        text = await response.text()
    assert '<a href="#RerankBody">RerankBody</a> or <a href="#TeiRerankBody">TeiRerankBody</a>' in text
