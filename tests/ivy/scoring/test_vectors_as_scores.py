"""Scores of a model that embeds: the cosine of the two vectors, with the prompts of a search where there are some."""

import json
import shutil

import numpy as np
import pytest

QUERY, DOCUMENTS = "what climbs", ["a bulb", "roses climb", "a bulb", "iron"]


@pytest.fixture
def cosine(library, vector_of):
    library.no_truncation()

    def between(first: str, second: str) -> float:
        left, right = (vector_of(library.encode(text).ids).astype(np.float64) for text in (first, second))
        return float(left @ right)

    return between


async def test_documents_are_ranked_by_the_cosine_of_their_vectors(gateway, cosine):
    answer = await gateway.post("/v1/rerank", query=QUERY, documents=DOCUMENTS)
    assert answer.status == 200, answer.body
    found = {each["index"]: each["relevance_score"] for each in answer.body["results"]}
    wanted = {index: cosine(QUERY, document) for index, document in enumerate(DOCUMENTS)}
    np.testing.assert_allclose([found[index] for index in wanted], list(wanted.values()), atol=1e-6)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert [index for index in found if index in (0, 2)] == [0, 2]


async def test_pairs_get_the_cosine_in_their_order(gateway, cosine):
    answer = await gateway.post("/v1/score", model="minilm", text_1=DOCUMENTS[:2], text_2=DOCUMENTS[2:])
    scores = [each["score"] for each in answer.body["data"]]
    np.testing.assert_allclose(scores, [cosine("a bulb", "a bulb"), cosine("roses climb", "iron")], atol=1e-6)


async def test_a_search_takes_the_prompts_of_its_two_sides_and_a_comparison_none_of_them(
    serve, engine, minilm, tmp_path, cosine
):
    shutil.copy(minilm / "tokenizer.json", tmp_path)
    prompts = {"prompts": {"query": "query: ", "document": "passage: "}}
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    served = await serve(engine, model=tmp_path)
    ranked = await served.post("/rerank", query=QUERY, texts=["a bulb"])
    alike = await served.post("/score", text_1=QUERY, text_2="a bulb")
    np.testing.assert_allclose(ranked.body[0]["score"], cosine("query: what climbs", "passage: a bulb"), atol=1e-6)
    np.testing.assert_allclose(alike.body["data"][0]["score"], cosine(QUERY, "a bulb"), atol=1e-6)


async def test_a_text_that_is_too_long_is_named_as_the_caller_calls_it(gateway):
    texts = ["a", "a", "long " * 400]
    answer = await gateway.post("/rerank", query=QUERY, texts=texts, truncate=False)
    assert answer.status == 400
    assert answer.body["error"]["param"] == "texts[2]"
    assert (await gateway.post("/rerank", query=QUERY, texts=texts)).status == 200


async def test_no_cosine_is_past_one(gateway):
    """What float32 calls a unit vector may be a little longer than one."""
    texts = [f"a bulb {number}" for number in range(200)]
    answer = await gateway.post("/v1/score", text_1=texts, text_2=texts)
    assert max(each["score"] for each in answer.body["data"]) == 1


async def test_labels_are_for_models_that_have_some(gateway):
    answer = await gateway.post("/predict", inputs="a")
    assert answer.status == 400
    assert "labels" in answer.body["error"]["message"]
