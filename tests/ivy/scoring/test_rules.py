"""What the files of a model and the manifest say of scores: activation, labels, fields."""

import json

import numpy as np
import pytest
from ivy.embedding import rules_of
from ivy.errors import ConfigError
from ivy.prompts import Prompts
from ivy.scoring.activation import Activation
from ivy.scoring.facts import pair_facts_of
from ivy.scoring.model import scoring_model_of
from ivy.scoring.ranking import ranked
from ivy.scoring.request import Cut
from ivy.scoring.rules import ScoringRules
from ivy.tokenize.pool import TokenizerPool
from ivy.tokenize.tokenizer import Tokenizer
from ivy.tokenize.truncation import Truncation

SIGMOID, IDENTITY = "torch.nn.modules.activation.Sigmoid", "torch.nn.modules.linear.Identity"
TWO = {"0": "a", "1": "b"}


@pytest.fixture
def pool(minilm):
    made = TokenizerPool(Tokenizer.load(minilm), 1)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("config", "wanted"),
    [
        ({}, "sigmoid"),
        ({"sentence_transformers": {"activation_fn": SIGMOID, "version": "5"}}, "sigmoid"),
        ({"sentence_transformers": {"activation_fn": IDENTITY}}, "none"),
        ({"sbert_ce_default_activation_function": IDENTITY}, "none"),
        (
            {"sentence_transformers": {"activation_fn": IDENTITY}, "sbert_ce_default_activation_function": SIGMOID},
            "none",
        ),
        ({"id2label": TWO}, "softmax"),
        ({"id2label": TWO, "sentence_transformers": {"activation_fn": IDENTITY}}, "softmax"),
        ({"id2label": TWO, "sentence_transformers": {"activation_fn": SIGMOID}}, "sigmoid"),
        ({"id2label": TWO, "problem_type": "multi_label_classification"}, "sigmoid"),
        ({"id2label": None, "num_labels": 1}, "sigmoid"),
        ({"id2label": None}, "softmax"),
    ],
)
def test_the_activation_is_that_of_the_files_else_that_of_the_labels(scorer_folder, pool, no_prompts, config, wanted):
    assert scoring_model_of(scorer_folder(**config), None, no_prompts, pool).activation is Activation(wanted)


def test_the_newest_layout_stands_above_the_older_ones(scorer_folder, pool, no_prompts):
    folder = scorer_folder(sentence_transformers={"activation_fn": SIGMOID})
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"activation_fn": IDENTITY}))
    (folder / "modules.json").write_text(json.dumps([{"type": "sentence_transformers.base.modules.Transformer"}]))
    assert scoring_model_of(folder, None, no_prompts, pool).activation is Activation.NONE


@pytest.mark.parametrize("named", ["torch.nn.modules.activation.Tanh", "my.own.Sigmoid"])
def test_an_activation_that_is_not_known_stops_the_start_unless_the_manifest_has_another(
    scorer_folder, pool, no_prompts, named
):
    folder = scorer_folder(sentence_transformers={"activation_fn": named})
    with pytest.raises(ConfigError, match=r"config\.json.*activation"):
        scoring_model_of(folder, None, no_prompts, pool)
    rules = ScoringRules(Activation.NONE)
    assert scoring_model_of(folder, rules, no_prompts, pool).activation is Activation.NONE


async def test_a_default_prompt_goes_before_the_first_side(scorer_folder, pool, reference, names):
    model = scoring_model_of(scorer_folder(), None, Prompts({"query": "find: "}, "query"), pool)
    [found] = await model.reader.read([("a", "b")], Cut(64, Truncation.END), names)
    assert list(found.ids) == reference("find: a", "b")[0]


@pytest.mark.parametrize("values", [[0.0], [100.0], [-100.0], [1000.0, -1000.0], [3.5, -2.25, 0.125]])
def test_activations_neither_overflow_nor_lose_small_values(values):
    rows = np.array([values], dtype=np.float32)
    wide = rows.astype(np.longdouble)
    with np.errstate(all="raise", under="ignore"):
        each, shares = Activation.SIGMOID.of(rows), Activation.SOFTMAX.of(rows)
    np.testing.assert_allclose(each, 1 / (1 + np.exp(-wide)), rtol=1e-6, atol=1e-45)
    powers = np.exp(wide - wide.max())
    np.testing.assert_allclose(shares, powers / powers.sum(), rtol=1e-6, atol=1e-45)
    assert Activation.NONE.of(rows) is rows


def test_equal_values_keep_their_order_and_the_greatest_come_first():
    values = np.array([1, 3, 3, 2, 1, 3], dtype=np.float32)
    assert ranked(values, None) == [1, 2, 5, 3, 0, 4]
    assert ranked(values, 2) == [1, 2]
    assert ranked(values, 99) == [1, 2, 5, 3, 0, 4]


def test_the_fields_of_the_manifest_are_read():
    spec = {"scoring": {"activation": "softmax", "template": "{query}{document}", "instruction": "x"}}
    assert rules_of(spec).scoring == ScoringRules(Activation.SOFTMAX, "{query}{document}", "x")
    assert rules_of({"scoring": {"activation": "auto"}}).scoring == ScoringRules()
    assert rules_of({}).scoring is None


@pytest.mark.parametrize(
    ("scoring", "said"),
    [
        ("sigmoid", "not an object"),
        ({"activations": "sigmoid"}, "unknown field 'activations'"),
        ({"activation": "tanh"}, "auto, none, sigmoid, softmax"),
        ({"template": 7}, "scoring.template"),
        ({"template": ""}, "scoring.template"),
        ({"instruction": ["x"]}, "scoring.instruction"),
    ],
)
def test_a_wrong_field_of_the_manifest_is_named(scoring, said):
    with pytest.raises(ConfigError, match=said):
        rules_of({"scoring": scoring})


@pytest.mark.parametrize(("name", "scores"), [("scores", True), ("sentence_embedding", False)])
def test_a_model_scores_where_its_last_layer_does(scorer_folder, name, scores):
    folder = scorer_folder(architectures=["ModernBertModel"], id2label={"0": "LABEL_0", "1": "LABEL_1"})
    kinds = ("Transformer", "Pooling", "Dense", "LayerNorm", "Dense")
    modules = [{"type": f"x.{kind}", "path": f"{index}_{kind}"} for index, kind in enumerate(kinds)]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "4_Dense").mkdir()
    settings = {"in_features": 8, "out_features": 1, "module_output_name": name}
    (folder / "4_Dense" / "config.json").write_text(json.dumps(settings))
    facts = pair_facts_of(folder, None)
    assert (facts.scores, facts.labels) == ((True, 1) if scores else (False, 2))


def test_an_embedding_model_does_not_score_by_its_files(minilm):
    assert not pair_facts_of(minilm, None).scores
