"""Old and new spellings of one model, and its longest input, against `SentenceTransformer`."""

import json
from pathlib import Path
from typing import Any

import pytest
from paritykit.measure import parity
from paritykit.sentences import check, expected, load, vectors
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import Pooling

HIDDEN = 32
FLAGS = {
    "cls": "pooling_mode_cls_token",
    "max": "pooling_mode_max_tokens",
    "mean": "pooling_mode_mean_tokens",
    "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
    "weightedmean": "pooling_mode_weightedmean_tokens",
    "lasttoken": "pooling_mode_lasttoken",
}


def rewrite(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


def made_old(folder: Path, modes: tuple[str, ...]) -> None:
    """Spell the files as they were spelled years ago."""
    modules = json.loads((folder / "modules.json").read_text())
    rewrite(
        folder / "modules.json",
        [{**each, "type": "sentence_transformers.models." + each["type"].rsplit(".", 1)[-1]} for each in modules],
    )
    flags = {flag: mode in modes for mode, flag in reversed(FLAGS.items())}
    rewrite(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": HIDDEN, **flags})
    rewrite(folder / "sentence_bert_config.json", {"max_seq_length": 64, "do_lower_case": False})


@pytest.mark.parametrize("modes", [*[(mode,) for mode in FLAGS], ("mean", "max"), ("lasttoken", "cls")], ids="+".join)
def test_flags_of_old_files_mean_what_the_reference_makes_of_them(save: Any, modes: tuple[str, ...]) -> None:
    width = HIDDEN * len(modes)
    _, folder = save([Pooling(HIDDEN, modes), Dense(width, 24), Normalize()])
    made_old(folder, modes)
    check(SentenceTransformer(str(folder), device="cpu"), folder)


def test_a_manifest_that_names_another_pooling_wins(save: Any) -> None:
    model, folder = save([Pooling(HIDDEN, ("cls", "mean"))])
    rewrite(folder / "1_Pooling" / "config.json", {"embedding_dimension": HIDDEN, "pooling_mode": "max"})
    engine = load(folder, pooling="cls+mean")
    assert engine.card.pooling == "cls+mean"
    assert parity(vectors(engine, model), expected(model)).cosine >= 0.99999


def test_the_longest_input_is_that_of_the_reference(save: Any, edit: Any) -> None:
    _, folder = save([Pooling(HIDDEN)])
    for length, own in ((33, 33), (None, 70), (10**30, 70)):
        edit(folder / "tokenizer_config.json", model_max_length=length)
        reference = SentenceTransformer(str(folder), device="cpu").max_seq_length
        assert load(folder).card.max_input_tokens == own == reference
    edit(folder / "tokenizer_config.json", model_max_length=33)
    edit(folder / "sentence_bert_config.json", max_seq_length=20)
    assert SentenceTransformer(str(folder), device="cpu").max_seq_length == 20
    assert load(folder).card.max_input_tokens == 20
