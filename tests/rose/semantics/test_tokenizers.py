"""Whether a tokenizer belongs to its model: those of published models do, those of another model are refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from paritykit.sentences import load
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.models.registry import find_model
from tulip_rose.rose.tokenizer_check import check_tokenizer, kinds_of

Ids = dict[str, int]
BERT: Ids = {"pad": 0, "cls": 101, "sep": 102}
FAIRSEQ: Ids = {"bos": 0, "pad": 1, "eos": 2}
QWEN: Ids = {"pad": 151643, "eos": 151645}
PPLX: Ids = {"bos": 151643, "eos": 151643, "pad": 151643}
GEMMA: Ids = {"pad": 0, "eos": 1, "bos": 2}
MODERN: Ids = {"cls": 50281, "sep": 50282, "pad": 50283}
MODERN_CONFIG = MODERN | {"bos": 50281, "eos": 50282}
RURI: Ids = {"bos": 1, "eos": 2, "pad": 3, "sep": 4, "cls": 6}

PUBLISHED: dict[str, tuple[str, int, Ids, str, int, Ids]] = {
    "all-MiniLM": ("BertModel", 30522, {"pad": 0}, "WordPiece", 30522, BERT),
    "multilingual-e5-small": ("BertModel", 250037, {"pad": 0}, "Unigram", 250002, FAIRSEQ),
    "HerBERT": ("BertModel", 50000, {"pad": 1}, "BPE", 50000, {"cls": 0, "pad": 1, "sep": 2}),
    "distiluse": ("DistilBertModel", 119547, {"pad": 0}, "WordPiece", 119547, BERT),
    "all-mpnet": ("MPNetModel", 30527, FAIRSEQ, "WordPiece", 30527, {"cls": 0, "pad": 1, "sep": 2}),
    "nomic-embed-text": ("NomicBertModel", 30528, {}, "WordPiece", 30522, BERT),
    "bge-m3": ("XLMRobertaModel", 250002, FAIRSEQ, "Unigram", 250002, FAIRSEQ),
    "CamemBERT": ("CamembertModel", 32005, {"bos": 5, "pad": 1, "eos": 6}, "Unigram", 32005, {"pad": 1, "bos": 5}),
    "CamemBERTv2": ("RobertaModel", 32768, {"pad": 0, "bos": 1, "eos": 2}, "WordPiece", 32768, {"pad": 0, "cls": 1}),
    "ko-sroberta": ("RobertaModel", 32000, FAIRSEQ, "WordPiece", 32000, {"cls": 0, "pad": 1, "sep": 2}),
    "all-distilroberta": ("RobertaModel", 50265, FAIRSEQ, "bytes", 50265, FAIRSEQ),
    "gte-modernbert": ("ModernBertModel", 50368, MODERN_CONFIG, "bytes", 50280, MODERN),
    "mmBERT": ("ModernBertModel", 256000, GEMMA | {"cls": 1, "sep": 1}, "fallback", 256000, GEMMA | {"cls": 2}),
    "ruri-v3": ("ModernBertModel", 102400, RURI, "Unigram", 102400, RURI),
    "Qwen3-Embedding": ("Qwen3ForCausalLM", 151669, {"bos": 151643, "eos": 151643}, "bytes", 151643, QWEN),
    "Qwen3-Embedding-8B": ("Qwen3ForCausalLM", 151936, {"bos": 151643, "eos": 151645}, "bytes", 151643, QWEN),
    "pplx-embed": ("PPLXQwen3Model", 151936, PPLX, "bytes", 151643, QWEN),
    "EmbeddingGemma": ("Gemma3TextModel", 262144, GEMMA, "fallback", 262144, GEMMA),
}
"""Architecture, vocab_size and ids of config.json; kind, pieces without the added ones and ids of the tokenizer."""


def write(folder: Path, kind: str, pieces: int, ids: Ids, *, begins: bool = True) -> None:
    """Write what an engine reads of a tokenizer's files, without most of the pieces."""
    names = {id: f"<{role}>" for role, id in ids.items()}
    own = {name: id for id, name in names.items() if id < pieces} | {"last": pieces - 1}
    vocabulary = [[names.get(place, "piece"), -1.0] for place in range(pieces)] if kind == "Unigram" else own
    token = {"SpecialToken": {"id": "<x>", "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    template = {"type": "TemplateProcessing", "single": [token, text] if begins else [text, token]}
    splits = [{"type": "Split"}, {"type": "ByteLevel" if kind == "bytes" else "Whitespace"}]
    tokenizer = {
        "added_tokens": [{"id": id, "content": name} for id, name in names.items()],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": splits},
        "post_processor": {"type": "Sequence", "processors": [{"type": "ByteLevel"}, template]},
        "model": {
            "type": {"bytes": "BPE", "fallback": "BPE"}.get(kind, kind),
            "byte_fallback": kind == "fallback",
            "vocab": vocabulary,
        },
    }
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    named = {f"{role}_token": names[id] for role, id in ids.items()}
    (folder / "tokenizer_config.json").write_text(json.dumps(named))


def config_of(ids: Ids) -> dict[str, int]:
    return {f"{role}_token_id": id for role, id in ids.items()}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_tokenizer_of_a_published_model_is_its_own(tmp_path: Path, name: str) -> None:
    architecture, rows, config, kind, pieces, ids = PUBLISHED[name]
    write(tmp_path, kind, pieces, ids, begins=not architecture.startswith(("Qwen3", "PPLX")))
    check_tokenizer(tmp_path, architecture, config_of(config), rows)


TRADED = [
    ("all-MiniLM", "all-distilroberta", "model.vocab has ids up to 50264, config.json says vocab_size 30522"),
    ("bge-m3", "all-MiniLM", "model.vocab has only 30522 pieces, config.json says vocab_size 250002"),
    ("EmbeddingGemma", "Qwen3-Embedding", "has only 151645 pieces, config.json says vocab_size 262144"),
    ("all-distilroberta", "gte-modernbert", "model.vocab has ids up to 50279"),
    ("gte-modernbert", "all-distilroberta", "beginning is 0 and in config.json 50281, end is 2 and"),
    ("all-mpnet", "all-MiniLM", "padding is 0 and in config.json 1, beginning is 101 and in config.json 0, end is 102"),
    ("ko-sroberta", "CamemBERT", "model.vocab has ids up to 32004, config.json says vocab_size 32000"),
    ("CamemBERT", "ko-sroberta", "WordPiece, config.json says CamembertModel, which has Unigram; and beginning is 0"),
    ("HerBERT", "gte-modernbert", "model.vocab has ids up to 50279"),
    ("all-distilroberta", "all-MiniLM", "model.vocab has only 30522 pieces, config.json says vocab_size 50265"),
    ("HerBERT", "EmbeddingGemma", "model.vocab has ids up to 262143"),
]


@pytest.mark.parametrize(("name", "other", "said"), TRADED)
def test_the_tokenizer_of_another_model_is_refused(tmp_path: Path, name: str, other: str, said: str) -> None:
    architecture, rows, config, *_ = PUBLISHED[name]
    *_, kind, pieces, ids = PUBLISHED[other]
    write(tmp_path, kind, pieces, ids)
    with pytest.raises(LoadError) as raised:
        check_tokenizer(tmp_path, architecture, config_of(config), rows)
    line = str(raised.value)
    assert line.startswith(f"{tmp_path / 'tokenizer.json'}: ")
    assert line.endswith(": the tokenizer is that of another model")
    assert said in line
    assert "\n" not in line


def bytes_tokenizer(folder: Path, pieces: int) -> None:
    """A tokenizer of bytes with that many pieces, as its own library saves it."""
    names = ["<|endoftext|>", *pre_tokenizers.ByteLevel.alphabet()]
    names += [f"piece{place}" for place in range(pieces - len(names))]
    tokenizer = Tokenizer(models.BPE({name: place for place, name in enumerate(names)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A <|endoftext|>", special_tokens=[("<|endoftext|>", 0)]
    )
    tokenizer.add_special_tokens(["<|endoftext|>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"pad_token": "<|endoftext|>"}))


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        (3000, "model.vocab has only 3000 pieces, config.json says vocab_size 30522"),
        (30000, "byte-level BPE, config.json says BertModel, which has WordPiece or Unigram; and puts no token before"),
    ],
)
def test_minilm_does_not_start_with_a_tokenizer_of_bytes(minilm: Path, tmp_path: Path, pieces: int, said: str) -> None:
    folder = tmp_path / "model"
    shutil.copytree(minilm, folder)
    assert load(folder).card.dimensions == 384
    bytes_tokenizer(folder, pieces)
    with pytest.raises(LoadError, match=rf"tokenizer\.json: {said}"):
        load(folder)


def test_a_cross_encoder_does_not_start_with_a_tokenizer_that_has_no_marks_around_a_pair(tmp_path: Path) -> None:
    sizes: dict[str, Any] = {
        "hidden_size": 32,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 48,
    }
    BertForSequenceClassification(BertConfig(vocab_size=300, num_labels=1, **sizes)).save_pretrained(tmp_path)
    assert load(tmp_path).card.labels
    bytes_tokenizer(tmp_path, 300)
    with pytest.raises(LoadError, match=r"byte-level BPE, config\.json says BertForSequenceClassification"):
        load(tmp_path)


def test_every_architecture_has_kinds_of_pieces() -> None:
    with pytest.raises(LoadError) as raised:
        find_model({}, "config.json")
    known = str(raised.value).partition("known are ")[2].split(", ")
    assert len(known) > 30
    assert all(kinds_of(architecture) for architecture in known)
