"""Ranking over HTTP: the three shapes of bodies, the order, the sizes, the errors."""

import asyncio
import json
import random

import numpy as np
import pytest
from trellis_wire.v1.packing import unpack_ids

PATHS = ["/v1/rerank", "/v2/rerank", "/rerank"]
QUERY = "what climbs on a trellis"
DOCUMENTS = ["plants climb on it", "a bulb", "roses and ivy", "", "an iron frame in a garden"]


def refused(answer, param: str | None, status: int = 400, code: str | None = None) -> str:
    assert answer.status == status, answer.body
    assert sorted(answer.body["error"]) == ["code", "message", "param", "type"]
    assert (answer.body["error"]["param"], answer.body["error"]["code"]) == (param, code)
    return answer.body["error"]["message"]


@pytest.fixture
def order(expected):
    """Places and scores that a query's documents must get, the best first; `raw` without the sigmoid."""

    def best(documents, *, raw: bool = False, **more):
        found = [(index, *expected(QUERY, document, **more)) for index, document in enumerate(documents)]
        found.sort(key=lambda each: -each[1])
        return [(index, value if raw else score) for index, value, score in found]

    return best


def assert_same(found, wanted):
    assert [index for index, _ in found] == [index for index, _ in wanted]
    np.testing.assert_allclose([score for _, score in found], [score for _, score in wanted], rtol=1e-6)


@pytest.mark.parametrize("path", PATHS)
async def test_documents_are_ranked_by_the_sigmoid_of_the_models_values(scorer, order, path):
    answer = await scorer.post(path, model="ranker", query=QUERY, documents=DOCUMENTS)
    assert answer.status == 200, answer.body
    results = answer.body["results"]
    assert_same([(each["index"], each["relevance_score"]) for each in results], order(DOCUMENTS))
    assert all(set(each) == {"index", "relevance_score"} for each in results)
    assert answer.body["model"] == "ranker"
    assert answer.body["object"] == "list"


@pytest.mark.parametrize("path", PATHS)
async def test_a_body_of_text_embeddings_inference_gets_its_shape_on_any_path(scorer, order, path):
    answer = await scorer.post(path, query=QUERY, texts=DOCUMENTS)
    assert answer.status == 200, answer.body
    assert_same([(each["index"], each["score"]) for each in answer.body], order(DOCUMENTS))
    assert all(set(each) == {"index", "score"} for each in answer.body)


async def test_a_model_that_ranks_does_so_at_the_root(scorer, order):
    answer = await scorer.post("/", query=QUERY, texts=DOCUMENTS)
    assert_same([(each["index"], each["score"]) for each in answer.body], order(DOCUMENTS))


async def test_raw_scores_are_the_values_without_the_sigmoid(scorer, order):
    answer = await scorer.post("/rerank", query=QUERY, texts=DOCUMENTS, raw_scores=True)
    assert_same([(each["index"], each["score"]) for each in answer.body], order(DOCUMENTS, raw=True))
    answer = await scorer.post("/v1/rerank", query=QUERY, documents=DOCUMENTS, raw_scores=True)
    found = [(each["index"], each["relevance_score"]) for each in answer.body["results"]]
    assert_same(found, order(DOCUMENTS, raw=True))


async def test_texts_come_back_where_they_are_asked_for(scorer):
    answer = await scorer.post("/v1/rerank", query=QUERY, documents=DOCUMENTS, return_documents=True)
    assert all(each["document"] == {"text": DOCUMENTS[each["index"]]} for each in answer.body["results"])
    answer = await scorer.post("/rerank", query=QUERY, texts=DOCUMENTS, return_text=True)
    assert all(each["text"] == DOCUMENTS[each["index"]] for each in answer.body)


async def test_documents_may_be_objects_with_a_text(scorer, order):
    objects = [{"text": text, "title": "not read"} for text in DOCUMENTS]
    answer = await scorer.post("/v1/rerank", query=QUERY, documents=objects, rank_fields=["text"])
    found = [(each["index"], each["relevance_score"]) for each in answer.body["results"]]
    assert_same(found, order(DOCUMENTS))


@pytest.mark.parametrize(("top_n", "count"), [(1, 1), (3, 3), (5, 5), (1000, 5), (None, 5)])
async def test_the_best_are_given_as_many_as_are_asked_for_and_there_are(scorer, order, top_n, count):
    answer = await scorer.post("/v1/rerank", query=QUERY, documents=DOCUMENTS, top_n=top_n)
    found = [(each["index"], each["relevance_score"]) for each in answer.body["results"]]
    assert_same(found, order(DOCUMENTS)[:count])


async def test_documents_that_come_twice_are_scored_once_and_keep_their_order(scorer):
    documents = ["roses", "a bulb", "roses", "ivy", "a bulb", "roses"]
    answer = await scorer.post("/v1/rerank", query=QUERY, documents=documents)
    sent = [ids for call in scorer.engine.calls for ids in unpack_ids(call.token_ids, call.lengths)]
    assert len(sent) == 3
    places: dict[str, list[int]] = {}
    scores: dict[str, set[float]] = {}
    for each in answer.body["results"]:
        places.setdefault(documents[each["index"]], []).append(each["index"])
        scores.setdefault(documents[each["index"]], set()).add(each["relevance_score"])
    assert places["roses"] == [0, 2, 5]
    assert places["a bulb"] == [1, 4]
    assert all(len(found) == 1 for found in scores.values())


async def test_a_saturated_sigmoid_leaves_the_order_of_the_values(serve, ScoringEngine, scorer_folder, monkeypatch):
    """Beyond 17 the sigmoid is 1 in float32; which of two such documents is the better one is still known."""
    engine = await ScoringEngine().start()
    values = np.array([[30.0], [40.0], [35.0]], dtype="<f4")
    served = await serve(engine, model=scorer_folder(), served_names=("ranker",))
    own = type(engine).rows
    monkeypatch.setattr(type(engine), "rows", lambda self, *args: _with(own(self, *args), values.tobytes()))
    answer = await served.post("/rerank", query=QUERY, texts=["a", "b", "c"])
    assert [(each["index"], each["score"]) for each in answer.body] == [(1, 1.0), (2, 1.0), (0, 1.0)]
    await engine.stop()


def _with(rows, data: bytes):
    rows.rows = data
    return rows


async def test_a_thousand_documents_of_very_different_lengths_each_get_their_own_score(scorer, order):
    random_ = random.Random(7)
    words = ["climb", "trellis", "frame", "garden", "iron", "rose", "ivy", "bulb", "water", "sun"]
    documents = [" ".join(random_.choices(words, k=random_.choice((1, 2, 5, 20, 200)))) for _ in range(1000)]
    answer = await scorer.post("/v1/rerank", query=QUERY, documents=documents)
    assert answer.status == 200, answer.body
    found = [(each["index"], each["relevance_score"]) for each in answer.body["results"]]
    assert sorted(index for index, _ in found) == list(range(1000))
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    wanted = dict(order(documents))
    np.testing.assert_allclose(scores, [wanted[index] for index, _ in found], rtol=1e-6)
    assert len(scorer.engine.calls) > 1
    assert all(
        sum(np.frombuffer(call.lengths, "<i4")) <= scorer.engine.max_batch_tokens for call in scorer.engine.calls
    )


async def test_a_long_document_costs_no_more_than_the_model_reads(scorer, reference):
    answer = await scorer.post("/v1/rerank", query=QUERY, documents=["word " * 20_000, "a bulb"])
    sent = {len(ids) for call in scorer.engine.calls for ids in unpack_ids(call.token_ids, call.lengths)}
    assert sent == {scorer.engine.limit, len(reference(QUERY, "a bulb")[0])}
    assert answer.body["usage"]["total_tokens"] == sum(sent)


async def test_each_document_may_have_a_bound_of_its_own(scorer, expected):
    document = "one two three four"
    answer = await scorer.post("/v2/rerank", model="ranker", query=QUERY, documents=[document], max_tokens_per_doc=2)
    _, score = expected(QUERY, "one two")
    np.testing.assert_allclose(answer.body["results"][0]["relevance_score"], score, rtol=1e-6)


@pytest.mark.parametrize(
    ("more", "direction"),
    [({}, "right"), ({"truncate": True}, "right"), ({"truncate": True, "truncation_direction": "Left"}, "left")],
)
async def test_long_pairs_are_cut_on_the_side_that_is_asked_for(scorer, order, more, direction):
    documents = ["one two three " * 40, "a bulb"]
    answer = await scorer.post("/rerank", query=QUERY, texts=documents, **more)
    found = [(each["index"], each["score"]) for each in answer.body]
    assert_same(found, order(documents, direction=direction))


async def test_a_pair_that_may_not_be_cut_is_refused_by_name(scorer):
    body = {"query": QUERY, "texts": ["a bulb", "one two three " * 40], "truncate": False}
    message = refused(await scorer.post("/rerank", **body), "texts[1]", code="context_length_exceeded")
    assert "64" in message


@pytest.mark.parametrize(
    ("body", "param", "said"),
    [
        ({"query": "a"}, "documents", "Jina and Cohere"),
        ({"query": "a", "top_n": 3, "docs": ["b"]}, "documents", "Jina and Cohere"),
        ({"query": "a", "return_text": True}, "texts", "text-embeddings-inference"),
        ({"query": "a", "texts": ["b"], "documents": ["b"]}, "texts", "both"),
        ({"inputs": "a"}, "inputs", "nearest to that of /predict"),
        ({"query": "a", "texts": ["b"], "top_n": 1}, "top_n", "Jina and Cohere"),
        ({"query": "a", "texts": ["b"], "return_documents": True}, "return_documents", "Jina and Cohere"),
        ({"query": "a", "texts": ["b"], "max_tokens_per_doc": 2}, "max_tokens_per_doc", "Jina and Cohere"),
        ({"query": "a", "texts": ["b"], "rank_fields": ["text"]}, "rank_fields", "Jina and Cohere"),
        ({"query": "a", "documents": ["b"], "return_text": True}, "return_text", "text-embeddings-inference"),
        (
            {"query": "a", "documents": ["b"], "truncate": True, "truncation_direction": "left"},
            "truncation_direction",
            "text-embeddings-inference",
        ),
        ({"documents": ["b"]}, "query", "missing"),
        ({"query": "", "documents": ["b"]}, "query", "empty"),
        ({"query": "a", "documents": []}, "documents", "empty"),
        ({"query": "a", "texts": []}, "texts", "empty"),
        ({"query": "a", "documents": "b"}, "documents", "array"),
        ({"query": "a", "documents": ["b", 7]}, "documents[1]", "int"),
        ({"query": "a", "documents": ["b", {"title": "c"}]}, "documents[1].text", "missing"),
        ({"query": "a", "documents": ["b"], "top_n": 0}, "top_n", "1"),
        ({"query": "a", "documents": ["b"], "top_n": "3"}, "top_n", "int"),
        ({"query": "a", "documents": ["b"], "rank_fields": ["title"]}, "rank_fields[0]", "text"),
        ({"query": "a", "documents": ["b"], "truncate": "middle"}, "truncate", "none, start, end"),
        ({"query": ["a"], "documents": ["b"]}, "query", "str"),
    ],
)
async def test_a_body_that_fits_no_shape_is_told_what_it_lacks(scorer, body, param, said):
    assert said in refused(await scorer.post("/v1/rerank", **body), param)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b'{"query": "\\ud800", "documents": ["a"]}', "query"),
        (b'{"query": "a", "documents": ["b", "\\udc00"]}', "documents[1]"),
        (b'{"query": "a", "texts": ["\xff"]}', None),
        (b'{"query": "a", "texts": [', None),
        (b"[]", None),
        (b"", None),
    ],
)
async def test_what_is_no_text_is_refused(scorer, body, param):
    refused(await scorer.served.raw(body, path="/v1/rerank"), param)


async def test_too_many_documents_are_refused(serve, ScoringEngine, scorer_folder):
    engine = await ScoringEngine().start()
    served = await serve(engine, model=scorer_folder(), max_inputs=3)
    refused(await served.post("/rerank", query="a", texts=["b"] * 4), "texts", code="too_many_inputs")
    await engine.stop()


async def test_another_model_is_not_found(scorer):
    answer = await scorer.post("/v1/rerank", model="gpt", query=QUERY, documents=DOCUMENTS)
    refused(answer, "model", 404, "model_not_found")


async def test_pairs_are_counted_like_inputs_and_leave_nothing_under_way(scorer, reference):
    answer = await scorer.post("/v1/rerank", query=QUERY, documents=DOCUMENTS)
    tokens = sum(len(reference(QUERY, document)[0]) for document in DOCUMENTS)
    assert answer.body["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}
    assert "forward;dur=1.500" in answer.headers["server-timing"]
    assert await scorer.served.metric("trellis_gateway_tokens_total") == tokens
    assert await scorer.served.metric("trellis_gateway_inputs_total") == len(DOCUMENTS)
    assert await scorer.served.metric('trellis_gateway_requests_total{route="/v1/rerank",status="200"}') == 1
    assert await scorer.served.metric("trellis_gateway_in_flight_tokens") == 0


async def test_what_does_not_fit_into_the_queue_is_told_when_to_come_again(serve, ScoringEngine, scorer_folder, until):
    engine = await ScoringEngine().start()
    served = await serve(engine, model=scorer_folder(), max_queued_tokens=100)
    engine.gate.clear()
    first = asyncio.create_task(served.post("/rerank", query=QUERY, texts=["word " * 50]))
    await until(lambda: engine.waiting == 1)
    answer = await served.post("/rerank", query=QUERY, texts=["word " * 50])
    refused(answer, None, 429, "overloaded")
    assert int(answer.headers["retry-after-ms"]) > 0
    engine.gate.set()
    assert (await first).status == 200
    await engine.stop()


@pytest.mark.parametrize("wrong", [{"failed_rows": (0,)}, {"said_dimensions": 2}])
async def test_a_value_that_is_not_finite_or_not_asked_for_fails_the_request(scorer, wrong):
    for field, value in wrong.items():
        setattr(scorer.engine, field, value)
    answer = await scorer.post("/v1/rerank", query=QUERY, documents=DOCUMENTS)
    refused(answer, None, 500, "engine_failure")


async def test_types_of_tokens_go_along_for_models_that_have_them(scorer, reference):
    await scorer.post("/v1/rerank", query=QUERY, documents=["a bulb"])
    assert scorer.engine.calls[0].token_types == bytes(reference(QUERY, "a bulb")[1])


@pytest.mark.parametrize("fields", [{"model_type": "distilbert", "type_vocab_size": None}, {"type_vocab_size": 1}])
async def test_types_of_tokens_stay_here_for_models_that_have_none(serve, ScoringEngine, scorer_folder, fields):
    engine = await ScoringEngine().start()
    served = await serve(engine, model=scorer_folder(**fields))
    assert (await served.post("/rerank", query=QUERY, texts=["a bulb"])).status == 200
    assert engine.calls[0].token_types == b""
    await engine.stop()


async def test_a_model_of_several_labels_does_not_rank(labeller):
    message = refused(await labeller.post("/rerank", query="a", texts=["b"]), None)
    assert "/predict" in message


async def test_a_model_that_scores_gives_no_vectors(scorer):
    answer = await scorer.served.raw(json.dumps({"model": "ranker", "input": "a"}))
    assert "/v1/rerank" in refused(answer, None)
