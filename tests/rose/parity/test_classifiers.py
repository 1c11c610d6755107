"""Sequence classifiers, each against its class in transformers: raw logits, of pairs and of single texts."""

from pathlib import Path

import pytest
from paritykit.classifiers import FAMILIES, VOCABULARY, Family, made
from paritykit.measure import engine_vectors
from paritykit.scores import reference_logits, score_parity
from paritykit.texts import texts
from tulip_rose.rose.card import Task
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions

LENGTHS = [1, 2, 3, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 64, 64, 1, 200]


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES)
def family(request: pytest.FixtureRequest) -> Family:
    found: Family = request.param
    return found


def load(folder: Path, dtype: str = "float32") -> Engine:
    return Engine.load(folder, EngineOptions(device="cpu", threads=1, dtype=dtype))


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.usefixtures("layers")
def test_logits_of_a_mixed_batch_are_those_of_the_reference(tmp_path: Path, family: Family, labels: int) -> None:
    model = made(family, tmp_path, labels)
    inputs = texts(LENGTHS, VOCABULARY, paired=family.paired)
    found = score_parity(engine_vectors(load(tmp_path), inputs), reference_logits(model, inputs))
    assert found.correlation >= 0.99999
    assert found.error <= 2e-5


@pytest.mark.usefixtures("layers")
def test_logits_in_bfloat16_rank_as_those_of_the_reference_do(tmp_path: Path, family: Family) -> None:
    model = made(family, tmp_path, labels=1)
    inputs = texts(LENGTHS, VOCABULARY, paired=family.paired)
    found = score_parity(engine_vectors(load(tmp_path, "bfloat16"), inputs), reference_logits(model, inputs))
    assert found.correlation >= 0.999


def test_the_card_tells_that_the_model_scores_and_what_for(tmp_path: Path, family: Family) -> None:
    names = {0: "contradiction", 1: "entailment", 2: "neutral"}
    made(family, tmp_path, labels=3, id2label=names, label2id={name: index for index, name in names.items()})
    card = load(tmp_path).card
    assert card.task is Task.SCORE
    assert card.labels == tuple(names.values())
    assert (card.dimensions, card.allowed_dimensions, card.normalize) == (3, (), False)
    assert card.architecture == family.model.__name__  # type: ignore[attr-defined]


@pytest.mark.parametrize("ends", [[5, 0], [5, 0, 0, 0], [0, 0, 0], [0, 5, 0, 7]], ids=str)
def test_decoders_pass_over_padding_at_the_end_of_a_text(tmp_path: Path, ends: list[int]) -> None:
    model = made(FAMILIES["Qwen3"], tmp_path, labels=2)
    inputs = texts([4, 9, len(ends)], VOCABULARY)
    inputs[-1].ids[:] = ends
    found = score_parity(engine_vectors(load(tmp_path), inputs), reference_logits(model, inputs))
    assert found.error <= 2e-5
