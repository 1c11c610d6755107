"""What stands behind a text: what `tokenizer.json` puts there, as in transformers, and a word where it puts nothing."""

import json
import logging
from pathlib import Path

import pytest
from ivy.tokenize.tokenizer import Tokenizer as Served
from ivy.tokenize.truncation import Truncation
from paritykit.folder import random_model, save
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import AutoTokenizer, Qwen3Config, Qwen3Model
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions
from tulip_rose.rose.tokenizer_file import TokenizerFile

END, TURN = "<|endoftext|>", "<|im_end|>"
TEXTS = ["how tall is a larch?", "a", "", f"of {END} itself", "two\nlines"]
SAYS = [{}, {"add_eos_token": True}, {"add_eos_token": False, "add_bos_token": False}]
"""Of ends, in `tokenizer_config.json`."""


def qwen_tokenizer(folder: Path, says: dict[str, bool], *, ends: bool) -> int:
    """Files as Qwen3's, of bytes alone, with or without an end token behind each text; how many ids there are."""
    names = [*sorted(pre_tokenizers.ByteLevel.alphabet()), END, TURN]
    tokenizer = Tokenizer(models.BPE({name: place for place, name in enumerate(names)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    steps = [processors.ByteLevel(trim_offsets=False)]
    if ends:
        steps.append(processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, names.index(END))]))
    tokenizer.post_processor = processors.Sequence(steps)
    tokenizer.add_special_tokens([END, TURN])
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {"tokenizer_class": "Qwen2Tokenizer", "eos_token": TURN, "pad_token": END, **says}
    (folder / "tokenizer_config.json").write_text(json.dumps(named))
    return len(names)


@pytest.mark.parametrize("ends", [True, False], ids=["an end token", "none"])
@pytest.mark.parametrize("says", SAYS, ids=str)
def test_ids_are_those_of_transformers_whatever_is_said_of_ends_beside_the_tokenizer(
    tmp_path: Path, says: dict[str, bool], *, ends: bool
) -> None:
    end = qwen_tokenizer(tmp_path, says, ends=ends) - 2
    reference, served = AutoTokenizer.from_pretrained(tmp_path), Served.load(tmp_path)
    for text in TEXTS:
        found = served.ids(text, 100, Truncation.NONE)
        assert found == reference(text)["input_ids"]
        assert (found[-1:] == [end]) is ends
    tokenizer = TokenizerFile.of(tmp_path)
    assert tokenizer is not None
    assert (tokenizer.begins, tokenizer.ends) == (False, ends)


@pytest.mark.parametrize(
    ("ends", "pooling", "told"),
    [(False, "lasttoken", True), (True, "lasttoken", False), (False, "mean", False)],
)
def test_a_last_token_that_is_a_word_is_told_at_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, pooling: str, *, ends: bool, told: bool
) -> None:
    (tmp_path / "tokenizer").mkdir()
    count = qwen_tokenizer(tmp_path / "tokenizer", {}, ends=ends)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = Qwen3Config(vocab_size=count, num_key_value_heads=1, head_dim=16, **sizes)
    folder = save(random_model(Qwen3Model, config), tmp_path / "model", pooling)
    for file in (tmp_path / "tokenizer").iterdir():
        file.rename(folder / file.name)
    with caplog.at_level(logging.WARNING):
        Engine.load(folder, EngineOptions(device="cpu", threads=1))
    lines = [each.getMessage() for each in caplog.records if "puts no token behind a text" in each.getMessage()]
    assert len(lines) == told
    assert all(line.startswith(str(folder / "tokenizer.json")) for line in lines)
