"""Lower-casing as a model's sentence-transformers file asks for it, against sentence-transformers itself."""

import json
from pathlib import Path

import pytest
from ivy.errors import ConfigError
from ivy.tokenize.tokenizer import Tokenizer
from ivy.tokenize.truncation import Truncation
from sentence_transformers.sentence_transformer.modules import Transformer
from tokenizers import Tokenizer as Inner
from tokenizers.normalizers import NFC, Normalizer, Replace
from tokenizers.normalizers import Sequence as Normalizers
from transformers import BertConfig, BertModel, BertTokenizerFast

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcéi", *"ABCÉ", "##b", "##B", "dotted", "##̇", "İ"]
TEXTS = ["a B c A", "Éé é", "ab AB aB", "", "İ dotted DOTTED", "[MASK] [mask] A"]
SIZES = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 16}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    BertModel(BertConfig(vocab_size=len(WORDS), **SIZES)).save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(vocab=str(tmp_path / "vocab.txt"), do_lower_case=False, strip_accents=False).save_pretrained(
        tmp_path
    )
    return tmp_path


def ask(folder: Path, value: object, family: str = "bert") -> None:
    (folder / f"sentence_{family}_config.json").write_text(json.dumps({"do_lower_case": value}))


def ids(folder: Path) -> list[list[int]]:
    tokenizer = Tokenizer.load(folder)
    return [tokenizer.ids(text, 99, Truncation.NONE) for text in TEXTS]


def normalize_by(folder: Path, normalizer: Normalizer | None) -> None:
    inner = Inner.from_file(str(folder / "tokenizer.json"))
    inner.normalizer = normalizer
    inner.save(str(folder / "tokenizer.json"))
    # The reference makes the tokenizers of known classes anew, and would have BERT's normalizer again.
    config = json.loads((folder / "tokenizer_config.json").read_text())
    plain = {**config, "tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(plain))


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("normalizer", ["own", "none", "several"])
def test_texts_are_lower_cased_as_the_reference_does_it(folder: Path, normalizer: str, *, asked: bool) -> None:
    if normalizer != "own":
        normalize_by(folder, None if normalizer == "none" else Normalizers([NFC(), Replace("c", "a")]))
    plain = ids(folder)
    ask(folder, asked)
    reference = Transformer.load(str(folder)).tokenizer
    assert ids(folder) == [reference(text)["input_ids"] for text in TEXTS]
    assert (ids(folder) != plain) == asked


def test_the_file_of_another_family_is_read_too(folder: Path) -> None:
    plain = ids(folder)
    ask(folder, True, "xlm-roberta")
    assert ids(folder) != plain


@pytest.mark.parametrize("value", ["yes", None, 1])
def test_a_value_that_is_no_flag_stops_the_start(folder: Path, value: object) -> None:
    ask(folder, value)
    with pytest.raises(ConfigError, match=r"sentence_bert_config\.json: do_lower_case is not true or false"):
        Tokenizer.load(folder)
