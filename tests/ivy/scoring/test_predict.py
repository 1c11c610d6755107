"""Labels over HTTP, in the shape of text-embeddings-inference."""

import numpy as np
import pytest

LABELS = ("no", "maybe", "yes")


def softmax(values):
    wide = np.exp(np.asarray(values, dtype=np.float64) - np.max(values))
    return wide / wide.sum()


@pytest.fixture
def values(reference, values_of):
    """What the engine says of an input of one or two texts."""
    return lambda *texts: values_of(*reference(*texts), len(LABELS))


def assert_labels(found, scores):
    wanted = sorted(zip(scores, LABELS, strict=True), reverse=True)
    assert [each["label"] for each in found] == [label for _, label in wanted]
    np.testing.assert_allclose([each["score"] for each in found], [score for score, _ in wanted], rtol=1e-5)


@pytest.mark.parametrize(("inputs", "texts"), [("a", ("a",)), (["a"], ("a",)), (["a", "b"], ("a", "b"))])
async def test_one_input_gets_its_labels_as_shares_the_best_first(labeller, values, inputs, texts):
    answer = await labeller.post("/predict", inputs=inputs)
    assert answer.status == 200, answer.body
    assert_labels(answer.body, softmax(values(*texts)))


async def test_several_inputs_of_one_or_two_texts_get_a_list_each(labeller, values):
    answer = await labeller.post("/predict", inputs=[["a"], ["a", "b"], ["b", ""]])
    assert answer.status == 200, answer.body
    for found, texts in zip(answer.body, [("a",), ("a", "b"), ("b", "")], strict=True):
        assert_labels(found, softmax(values(*texts)))


async def test_raw_scores_are_the_values(labeller, values):
    answer = await labeller.post("/predict", inputs="a", raw_scores=True)
    assert_labels(answer.body, values("a"))


async def test_labels_that_may_hold_at_once_get_a_sigmoid_each(serve, ScoringEngine, scorer_folder, values):
    engine = await ScoringEngine(labels=LABELS).start()
    named = {str(place): label for place, label in enumerate(LABELS)}
    served = await serve(engine, model=scorer_folder(id2label=named, problem_type="multi_label_classification"))
    answer = await served.post("/predict", inputs="a")
    assert_labels(answer.body, 1 / (1 + np.exp(-values("a").astype(np.float64))))
    await engine.stop()


async def test_a_model_of_one_label_gives_it_its_sigmoid(scorer, expected):
    answer = await scorer.post("/predict", inputs=["a", "b"])
    assert [each["label"] for each in answer.body] == ["LABEL_0"]
    np.testing.assert_allclose(answer.body[0]["score"], expected("a", "b")[1], rtol=1e-6)


@pytest.mark.parametrize(
    ("inputs", "param"),
    [
        (None, "inputs"),
        ([], "inputs"),
        ("", "inputs"),
        ([""], "inputs"),
        ([["a"], []], "inputs[1]"),
        ([["a"], ["", "b"]], "inputs[1]"),
        ([["a", "b", "c"]], "inputs[0]"),
        (["a", "b", "c"], "inputs"),
        (["a", ["b"]], "inputs"),
        ([["a", 1]], "inputs[0][1]"),
        (7, "inputs"),
    ],
)
async def test_what_is_neither_a_text_nor_a_pair_is_refused(labeller, inputs, param):
    answer = await labeller.post("/predict", inputs=inputs)
    assert answer.status == 400, answer.body
    assert answer.body["error"]["param"] == param


@pytest.mark.parametrize(("direction", "side"), [("right", "right"), ("left", "left")])
async def test_a_long_text_is_cut_on_the_side_that_is_asked_for(labeller, reference, values_of, direction, side):
    text = "one two three " * 60
    answer = await labeller.post("/predict", inputs=text, truncate=True, truncation_direction=direction)
    assert_labels(answer.body, softmax(values_of(*reference(text, direction=side), len(LABELS))))
    answer = await labeller.post("/predict", inputs=text, truncate=False)
    assert answer.status == 400
    assert answer.body["error"]["code"] == "context_length_exceeded"


async def test_null_is_the_default(labeller):
    plain = await labeller.post("/predict", inputs="a")
    answer = await labeller.post("/predict", inputs="a", raw_scores=None, truncate=None, truncation_direction=None)
    assert (answer.status, answer.body) == (200, plain.body)


async def test_a_model_of_labels_advises_the_route_of_labels(labeller):
    answer = await labeller.post("/embed", inputs="a")
    assert answer.body["error"]["message"] == "this model gives scores and no vectors: ask /predict"
