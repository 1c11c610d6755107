"""Ranking over HTTP: fields that are null, fields of the model, and what `/info` says of long pairs."""

import pytest
from ivy.embedding import EmbeddingRules

QUERY = "what climbs on a trellis"
DOCUMENTS = ["plants climb on it", "a bulb", "roses and ivy"]


def refused(answer, param: str, status: int = 400, code: str | None = None) -> str:
    assert answer.status == status, answer.body
    assert (answer.body["error"]["param"], answer.body["error"]["code"]) == (param, code)
    return answer.body["error"]["message"]


async def test_fields_that_are_null_are_as_if_they_were_not_there(scorer):
    plain = await scorer.post("/rerank", query=QUERY, texts=DOCUMENTS)
    nulls = {"documents": None, "top_n": None, "return_text": None, "raw_scores": None, "model": None}
    answer = await scorer.post("/rerank", query=QUERY, texts=DOCUMENTS, **nulls)
    assert (answer.status, answer.body) == (200, plain.body)
    nulls = {"texts": None, "return_documents": None, "raw_scores": None, "return_text": None}
    answer = await scorer.post("/rerank", query=QUERY, documents=DOCUMENTS, **nulls)
    assert answer.status == 200, answer.body
    found = [(each["index"], each["relevance_score"]) for each in answer.body["results"]]
    assert found == [(each["index"], each["score"]) for each in plain.body]
    assert all("document" not in each for each in answer.body["results"])


async def test_a_body_of_text_embeddings_inference_may_name_the_model(scorer):
    assert (await scorer.post("/rerank", query=QUERY, texts=DOCUMENTS, model="ranker")).status == 200
    refused(await scorer.post("/rerank", query=QUERY, texts=DOCUMENTS, model="gpt"), "model", 404, "model_not_found")


async def test_a_query_that_is_too_long_alone_is_refused_by_name_where_nothing_may_be_cut(scorer):
    answer = await scorer.post("/rerank", query="word " * 100, texts=["a", "b"], truncate=False)
    assert "103" in refused(answer, "query", code="context_length_exceeded")


async def test_an_input_of_labels_at_the_root_of_a_ranker_is_told_where_it_belongs(scorer):
    assert "/predict" in refused(await scorer.post("/", inputs="a"), "inputs")


@pytest.mark.parametrize(("truncation", "cuts"), [(None, True), ("end", True), ("start", True), ("error", False)])
async def test_info_tells_whether_long_pairs_are_cut(serve, ScoringEngine, scorer_folder, truncation, cuts):
    engine = await ScoringEngine().start()
    served = await serve(engine, model=scorer_folder(), embedding=EmbeddingRules(truncation=truncation))
    answer = await served.post("/rerank", query=QUERY, texts=["word " * 100])
    async with served.client.get(f"{served.url}/info") as response:
        assert (await response.json())["auto_truncate"] is cuts
    assert (answer.status == 200) is cuts
    await engine.stop()


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/rerank", {"query": QUERY, "texts": DOCUMENTS}),
        ("/v2/rerank", {"query": QUERY, "documents": DOCUMENTS}),
        ("/score", {"text_1": QUERY, "text_2": DOCUMENTS}),
        ("/predict", {"inputs": [[QUERY, "a bulb"]]}),
    ],
)
async def test_a_priority_goes_with_the_pairs_of_a_model_that_scores(scorer, path, body):
    assert (await scorer.post(path, **body, priority=5)).status == 200
    assert [call.priority for call in scorer.engine.calls] == [5]
    refused(await scorer.post(path, **body, priority=1000), "priority")


async def test_labels_are_asked_of_a_served_model_alone(labeller):
    assert (await labeller.post("/predict", inputs="a", model="labeller")).status == 200
    refused(await labeller.post("/predict", inputs="a", model="gpt"), "model", 404, "model_not_found")
