"""Tokenizers of every kind that the compiled tokenizer serves, and texts made to break it."""

import copy
import json
import struct
from base64 import b64encode

import pytest
import tokenizers
from hypothesis import strategies as st
from ivy.tokenize.native.choice import built, choose
from ivy.tokenize.native.library import library

from bench.models import multilingual_tokenizer

PIECES = [
    "hello ", "world", "The quick", "unbelievable", "中文", "ｶﾞ", "か\u3099", "한국어", "\u1100\u1161", "สวัสดี", "น้ำ",
    "क्षि", "क़", "שָׁ", "ﷺ", "السَّ", "🙂", "👩‍👩‍👧", "🇩🇪", "❤️", "é", "e\u0301", "Ạ̈", "ß", "İ", "Σ", "ǅ", "ﬁ", "①", "½",
    "\u0344", "\u1e9b\u0323", "©\u0301", "\u200d©\u0301", "\u0600", "\u0600a", "\u0600\n", "\u302e", "\u1b44", "\ua9c0",
    "[MASK]", "[MA", "SK]", "[CLS]", "<s>", "<mask>", "</s>", "<unk>", "<", "[", "▁", "##s", "_", "-", "...", "don't",
    " ", "  ", "\n", "\r", "\r\n", "\t", "\x0b", "\x85", "\u00a0", "\u1680", "\u2028", "\u3000", "\u200b", "\ufeff",
    "\x00", "\x7f", "\ufffd", "\ue000", "\u0378", "\U0009d7c0", "\u00ad", "a" * 99, "1" * 90, "b" * 400, "語" * 60,
]  # fmt: skip
"""Pieces that touch each other badly."""


def _one_block(block: int) -> st.SearchStrategy[str]:
    first = block * 128
    return st.text(st.characters(min_codepoint=first, max_codepoint=first + 127, codec="utf-8"), max_size=20)


BLOCKS = [block for block in range(0x110000 // 128) if not 0xD800 <= block * 128 < 0xE000]
HOSTILE = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join),
    st.text(max_size=60),
    st.sampled_from(BLOCKS).flatmap(_one_block),
    st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=12).map("".join),
)


def bert(spec, **flags):
    spec["normalizer"].update(flags)
    return spec


def small_words(spec):
    """Words of five letters at most, and a token that takes the spaces before it."""
    spec["model"]["max_input_chars_per_word"] = 5
    spec["added_tokens"][4]["lstrip"] = True
    return spec


def lowered_first(spec):
    parts = [{"type": "Lowercase"}, bert(spec, lowercase=False)["normalizer"]]
    spec["normalizer"] = {"type": "Sequence", "normalizers": parts}
    return spec


def words_only(spec):
    """As XLM-R has it."""
    spec["normalizer"] = spec["normalizer"]["normalizers"][0]
    spec["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, spec["pre_tokenizer"]]}
    spec["added_tokens"][4]["lstrip"] = True
    return spec


def stripped(spec):
    """As a converted SentencePiece model has it."""
    strip = {"type": "Strip", "strip_left": False, "strip_right": True}
    replace = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"}
    spec["normalizer"]["normalizers"][1:] = [strip, replace]
    return spec


WORDPIECE = {
    "lower case": lambda spec: spec,
    "cased": lambda spec: bert(spec, lowercase=False),
    "accents stay": lambda spec: bert(spec, strip_accents=False),
    "accents go, case stays": lambda spec: bert(spec, lowercase=False, strip_accents=True),
    "no cleaning": lambda spec: bert(spec, clean_text=False),
    "no Chinese spaces": lambda spec: bert(spec, handle_chinese_chars=False),
    "small words": small_words,
    "lower case first": lowered_first,
}
UNIGRAM = {"spaces": lambda spec: spec, "words only": words_only, "stripped": stripped}


@pytest.fixture(scope="session")
def specs(minilm):
    """The two tokenizer.json, parsed, without cutting and padding."""
    files = {"wordpiece": minilm / "tokenizer.json", "unigram": multilingual_tokenizer()}
    return {
        name: json.loads(path.read_text(encoding="utf-8")) | {"truncation": None, "padding": None}
        for name, path in files.items()
    }


@pytest.fixture(scope="session")
def both(specs):
    """The library's tokenizer and the compiled one, of a variant of a kind; each is made once."""
    made = {}

    def of(kind, variant):
        if variant not in made:
            change = {"wordpiece": WORDPIECE, "unigram": UNIGRAM}[kind][variant]
            made[variant] = compiled(change(copy.deepcopy(specs[kind])))
        return made[variant]

    return of


def compiled(spec):
    """The library's tokenizer and the compiled one."""
    inner = tokenizers.Tokenizer.from_str(json.dumps(spec))
    choice = choose(inner)
    assert choice.encoder is not None, choice.fallback
    return inner, choice.encoder


@pytest.fixture(scope="session")
def pair_of():
    """The library's tokenizer and the compiled one, without the check that takes longer than a small model does."""

    def of(spec):
        inner = tokenizers.Tokenizer.from_str(json.dumps(spec))
        return inner, built(library(), inner)

    return of


@pytest.fixture(scope="session")
def hostile():
    return HOSTILE


@pytest.fixture(scope="session")
def pieces():
    return PIECES


BARE = dict.fromkeys(["truncation", "padding", "post_processor", "decoder"]) | {"version": "1.0", "added_tokens": []}


def small_unigram(pieces):
    """A Unigram model of a few pieces, of which the first is unknown, with a charsmap that changes nothing."""
    charsmap = b64encode(struct.pack("<I1024I", 4096, *[0] * 1024) + b"\0").decode()
    collapse = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    normalizers = [{"type": "Precompiled", "precompiled_charsmap": charsmap}, collapse]
    return copy.deepcopy(BARE) | {
        "normalizer": {"type": "Sequence", "normalizers": normalizers},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False},
    }


def small_wordpiece(pieces, prefix, longest):
    """A WordPiece model of a few pieces."""
    rules = {"unk_token": "[UNK]", "continuing_subword_prefix": prefix, "max_input_chars_per_word": longest}
    flags = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    vocabulary = {piece: place for place, piece in enumerate(dict.fromkeys(["[UNK]", *pieces]))}
    return copy.deepcopy(BARE) | {
        "normalizer": {"type": "BertNormalizer", **flags},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "vocab": vocabulary, **rules},
    }


@pytest.fixture(scope="session")
def small():
    return {"unigram": small_unigram, "wordpiece": small_wordpiece}
