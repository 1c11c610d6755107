"""When the compiled tokenizer serves a model, and what happens when it does not."""

import copy
import logging
from base64 import b64encode

import pytest
import tokenizers
from ivy.metrics import Metrics
from ivy.tokenize.native import check, choice, library, recipe
from ivy.tokenize.native.characters import BertCharacters, Block, GraphemeCharacters, Kind
from ivy.tokenize.native.choice import Fallback, choose
from ivy.tokenize.native.encoder import MOST_BLOCKS, Encoder
from ivy.tokenize.native.pipeline import Unsupported, read_pipeline
from ivy.tokenize.tokenizer import Tokenizer
from ivy.tokenize.truncation import Truncation

import native_build


@pytest.fixture
def plain(minilm):
    inner = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    inner.no_padding()
    inner.no_truncation()
    return inner


def test_the_compiled_tokenizer_serves_the_model_of_the_example(minilm):
    assert Tokenizer.load(minilm).fallback is None


@pytest.mark.parametrize("truncation", [Truncation.NONE, Truncation.START, Truncation.END])
@pytest.mark.parametrize("text", ["", "one two", "word " * 900, "中文 é " * 400])
def test_a_tokenizer_with_it_cuts_as_one_without(minilm, plain, text, truncation):
    limit = 128 if truncation is not Truncation.NONE else 10_000
    assert Tokenizer.load(minilm).ids(text, limit, truncation) == Tokenizer(plain).ids(text, limit, truncation)


def test_other_ids_for_a_text_of_the_check_leave_the_work_to_the_library_with_a_warning(plain, monkeypatch, caplog):
    own = Encoder.ids

    def wrong(self, text, wanted=None, *, at_start=True):
        found = own(self, text, wanted, at_start=at_start)
        return found[::-1] if "größer" in text else found

    monkeypatch.setattr(Encoder, "ids", wrong)
    with caplog.at_level(logging.WARNING):
        found = choose(plain)
    assert (found.encoder, found.fallback) == (None, Fallback.MISMATCH)
    [record] = caplog.records
    assert record.fields["reason"] == "mismatch"


@pytest.mark.parametrize("broken", ["kinds", "texts"])
def test_the_check_sees_characters_that_are_told_wrong(plain, monkeypatch, broken):
    own = BertCharacters.block

    def wrong(self, number):
        block = own(self, number)
        if number != 0x04:
            return block
        if broken == "texts":  # Cyrillic keeps its case.
            return Block(block.kinds, type(block.sizes)("i", [-1]) * 256, b"")
        return Block(bytes([Kind.UNSURE]) * 256, block.sizes, block.texts)

    monkeypatch.setattr(BertCharacters, "block", wrong)
    # What is only unsure is left to the library text by text, and is no mistake.
    assert choose(plain).fallback is (Fallback.MISMATCH if broken == "texts" else None)


def test_the_check_sees_characters_that_are_joined_wrong(both, monkeypatch):
    inner, _ = both("unigram", "spaces")
    own = GraphemeCharacters.block
    monkeypatch.setattr(
        GraphemeCharacters,
        "block",
        lambda self, number: own(self, number) if number != 3 else Block(bytes(256), own(self, 3).sizes, b""),
    )
    assert choose(inner).fallback is Fallback.MISMATCH


def test_without_a_compiler_the_library_does_the_work_with_a_warning(plain, monkeypatch, caplog):
    monkeypatch.setattr(choice, "library", lambda: None)
    with caplog.at_level(logging.WARNING):
        found = choose(plain)
    assert (found.encoder, found.fallback) == (None, Fallback.NOT_BUILT)
    assert [record.fields["reason"] for record in caplog.records] == ["not_built"]
    assert Tokenizer(plain, found).ids("one two", 9, Truncation.NONE) == plain.encode("one two").ids


def test_a_library_that_is_not_there_is_none(monkeypatch, tmp_path):
    monkeypatch.setattr(library, "TARGET", tmp_path / "tokenizer.so")
    assert library.library.__wrapped__() is None


def test_one_of_other_sources_is_not_used(monkeypatch):
    assert library.library.__wrapped__() is not None
    monkeypatch.setattr(library, "digest", lambda: "0123456789abcdef")
    assert library.library.__wrapped__() is None


def test_a_compiler_that_fails_is_told_with_its_words(monkeypatch, tmp_path):
    monkeypatch.setattr(recipe, "TARGET", tmp_path / "tokenizer.so")
    monkeypatch.setenv("CXX", "false")
    with pytest.raises(native_build.NotBuiltError, match=r"false .* failed"):
        native_build.build(recipe)
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(native_build.NotBuiltError, match="no-such-compiler could not be run"):
        native_build.build(recipe)


@pytest.mark.parametrize("fallback", [None, *Fallback])
def test_a_metric_tells_why_the_library_tokenizes(fallback):
    metrics = Metrics(["/v1/embeddings"], [200])
    metrics.tokenizes(fallback)
    shown = [
        line for line in metrics.exposition().decode().splitlines() if line.startswith("trellis_gateway_tokenizer_")
    ]
    assert shown == [
        f'trellis_gateway_tokenizer_fallback{{reason="{each.value}"}} {float(each is fallback)}' for each in Fallback
    ]


def _added(**fields):
    token = {"id": 5, "content": "[X]", "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return lambda spec: spec["added_tokens"].append(token | {"special": True} | fields)


UNSUPPORTED = {
    "model BPE": lambda spec: spec["model"].update(type="BPE"),
    "normalizer NFC": lambda spec: spec.update(normalizer={"type": "NFC"}),
    "normalizer": lambda spec: spec.update(normalizer=None),
    "pre_tokenizer Whitespace": lambda spec: spec.update(pre_tokenizer={"type": "Whitespace"}),
    "model without its unknown token": lambda spec: spec["model"].update(unk_token="[NO]"),
    "added token": _added(normalized=True),
    "added token [X]": _added(single_word=True),
    r"added token \[X\]": _added(rstrip=True),
    "added token a b": _added(content="a b"),
    "piece of 2000 bytes": lambda spec: spec["model"]["vocab"].update({"x" * 2000: 99999}),
}


@pytest.mark.parametrize("why", UNSUPPORTED)
def test_a_wordpiece_that_it_does_not_know_is_refused_by_name(specs, why):
    spec = copy.deepcopy(specs["wordpiece"])
    UNSUPPORTED[why](spec)
    with pytest.raises(Unsupported, match=why.replace("[X]", r"\[X\]") if "\\" not in why else why):
        read_pipeline(spec)


UNSUPPORTED_UNIGRAM = {
    "normalizer Sequence": lambda spec: spec["normalizer"]["normalizers"].append({"type": "NFC"}),
    "normalizer that keeps rows of spaces": lambda spec: spec["normalizer"]["normalizers"].pop(),
    "pre_tokenizer Metaspace": lambda spec: spec["pre_tokenizer"].update(prepend_scheme="first"),
    "pre_tokenizer": lambda spec: spec.update(pre_tokenizer=None),
    "model without unknown tokens": lambda spec: spec["model"].update(unk_id=None),
    "model without unknown tokens Unigram": lambda spec: spec["model"].update(byte_fallback=True),
    "model with odd pieces": lambda spec: spec["model"].update(vocab=[("<unk>", 1.0), ("a", 2.0)], unk_id=0),
    "charsmap": lambda spec: spec["normalizer"]["normalizers"][0].update(
        precompiled_charsmap=b64encode(bytes(4) + b"x" * 2000).decode()
    ),
    "charsmap$": lambda spec: spec["normalizer"]["normalizers"][0].update(precompiled_charsmap="/////w=="),
}


@pytest.mark.parametrize("why", UNSUPPORTED_UNIGRAM)
def test_a_unigram_that_it_does_not_know_is_refused_by_name(small, why):
    spec = small["unigram"]([("<unk>", 0.0), ("a", -1.0)])
    UNSUPPORTED_UNIGRAM[why](spec)
    with pytest.raises(Unsupported, match=why):
        read_pipeline(spec)


def test_an_unsupported_tokenizer_is_served_by_the_library():
    inner = tokenizers.Tokenizer(tokenizers.models.BPE())
    assert choose(inner).fallback is Fallback.UNSUPPORTED


def test_a_text_of_many_new_blocks_does_not_wait_for_all_of_them(plain):
    encoder = choose(plain).encoder
    asked = []
    own = encoder._block
    encoder._block = lambda number: (asked.append(number), own(number))[1]
    points = [chr(point) for point in range(0x1F000, 0x30000, 256)]
    assert encoder.ids("".join(points)) is None
    assert len(asked) == MOST_BLOCKS
    few = "".join(points[:MOST_BLOCKS])
    assert list(encoder.ids(few)) == plain.encode(few, add_special_tokens=False).ids
    assert len(asked) == MOST_BLOCKS


def test_the_texts_of_the_check_are_of_every_kind():
    alphabets = {chr(ord(letter) & ~0x7F) for text in check.TEXTS for letter in text}
    assert len(alphabets) > 60
