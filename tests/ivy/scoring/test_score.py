"""Scores of pairs over HTTP: one with many, or each with its own, in the order of the request."""

import numpy as np
import pytest
from ivy.embedding import rules_of


@pytest.mark.parametrize("path", ["/v1/score", "/score"])
@pytest.mark.parametrize(
    ("text_1", "text_2", "pairs"),
    [
        ("a", "b", [("a", "b")]),
        ("a", ["b", "c"], [("a", "b"), ("a", "c")]),
        (["a"], ["b", "c"], [("a", "b"), ("a", "c")]),
        (["a", "b"], ["c", "d"], [("a", "c"), ("b", "d")]),
        (["a", "b", "a"], ["c", "", "c"], [("a", "c"), ("b", ""), ("a", "c")]),
    ],
)
async def test_each_pair_gets_the_sigmoid_of_its_value_in_the_order_of_the_request(
    scorer, expected, path, text_1, text_2, pairs
):
    answer = await scorer.post(path, model="ranker", text_1=text_1, text_2=text_2)
    assert answer.status == 200, answer.body
    assert [(each["index"], each["object"]) for each in answer.body["data"]] == [
        (place, "score") for place in range(len(pairs))
    ]
    scores = [each["score"] for each in answer.body["data"]]
    np.testing.assert_allclose(scores, [expected(*pair)[1] for pair in pairs], rtol=1e-6)
    assert answer.body["usage"]["total_tokens"] > 0


async def test_raw_scores_are_the_values(scorer, expected):
    answer = await scorer.post("/v1/score", text_1="a", text_2="b", raw_scores=True)
    np.testing.assert_allclose(answer.body["data"][0]["score"], expected("a", "b")[0], rtol=1e-6)


async def test_an_activation_of_the_manifest_stands_above_the_files(serve, ScoringEngine, scorer_folder, expected):
    engine = await ScoringEngine().start()
    folder = scorer_folder(sentence_transformers={"activation_fn": "torch.nn.modules.activation.Sigmoid"})
    served = await serve(engine, model=folder, embedding=rules_of({"scoring": {"activation": "none"}}))
    answer = await served.post("/score", text_1="a", text_2="b")
    np.testing.assert_allclose(answer.body["data"][0]["score"], expected("a", "b")[0], rtol=1e-6)
    await engine.stop()


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"text_1": "a"}, "text_2"),
        ({"text_2": "a"}, "text_1"),
        ({"text_1": ["a", "b"], "text_2": ["c"]}, "text_2"),
        ({"text_1": ["a", "b"], "text_2": ["c", "d", "e"]}, "text_2"),
        ({"text_1": [], "text_2": ["c"]}, "text_1"),
        ({"text_1": "a", "text_2": []}, "text_2"),
        ({"text_1": "", "text_2": "a"}, "text_1"),
        ({"text_1": ["a", ""], "text_2": ["a", "b"]}, "text_1[1]"),
        ({"text_1": 1, "text_2": "a"}, "text_1"),
        ({"text_1": "a", "text_2": ["a", None]}, "text_2[1]"),
    ],
)
async def test_sides_that_make_no_pairs_are_refused(scorer, body, param):
    answer = await scorer.post("/v1/score", **body)
    assert answer.status == 400, answer.body
    assert answer.body["error"]["param"] == param
