"""Pairs of texts to ids: equal to the library's own for each kind of tokenizer, cut as it cuts."""

import asyncio
import threading

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from ivy.errors import BadRequest, ConfigError, ContextTooLong
from ivy.scoring.readers import SpecialTokens
from ivy.scoring.request import Cut
from ivy.tokenize.pair import longest_first, pair_template_of
from ivy.tokenize.pool import TokenizerPool
from ivy.tokenize.tokenizer import Tokenizer
from ivy.tokenize.truncation import Truncation
from tokenizers import processors

TEXTS = ["", "plants climb", "a [SEP] b", "the plant s " * 9, "x" * 300, "中文字 und Wörter", "the plant s climb " * 60]
SIDES = {Truncation.END: "right", Truncation.START: "left"}


def library(own: tokenizers.Tokenizer, pair, limit: int, truncation: Truncation):
    own.no_padding()
    own.enable_truncation(limit, strategy="longest_first", direction=SIDES[truncation])
    encoding = own.encode(*pair)
    return encoding.ids, bytes(encoding.type_ids)


def copy_of(inner: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(inner.to_str())


@pytest.fixture(scope="module")
def wordpiece(minilm) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))


@pytest.fixture(scope="module", params=["wordpiece", "unigram", "byte_level"])
def inner(request) -> tokenizers.Tokenizer:
    return copy_of(request.getfixturevalue(request.param))


@pytest.mark.parametrize("truncation", [Truncation.END, Truncation.START])
@pytest.mark.parametrize("limit", [7, 12, 33, 64, 256])
async def test_ids_and_types_of_pairs_are_those_of_the_library(inner, read, limit, truncation):
    pairs = [(first, second) for first in TEXTS for second in TEXTS if first or second]
    found_pairs = await read(inner, pairs, limit, truncation)
    own = copy_of(inner)
    for pair, found in zip(pairs, found_pairs, strict=True):
        ids, types = library(own, pair, limit, truncation)
        assert list(found.ids) == ids, pair
        assert found.types == types, pair


@given(
    first=st.lists(st.sampled_from(["plant", "climbs", "on", "frames", "unbelievably"]), max_size=40),
    second=st.lists(st.sampled_from(["plant", "climbs", "on", "frames", "unbelievably"]), max_size=40),
    limit=st.integers(5, 48),
    truncation=st.sampled_from([Truncation.END, Truncation.START]),
)
@settings(max_examples=60, deadline=None)
def test_any_pair_is_cut_as_the_library_cuts_it(wordpiece, read_once, first, second, limit, truncation):
    pair = (" ".join(first), " ".join(second))
    found = read_once(pair, limit, truncation)
    assert (list(found.ids), found.types) == library(wordpiece, pair, limit, truncation)


@pytest.fixture(scope="module")
def read_once(minilm, names):
    pool = TokenizerPool(Tokenizer.load(minilm), 1)
    reader = SpecialTokens(pool, pool.tokenizer.pair_template(), "", with_types=True)

    def once(pair, limit, truncation):
        return asyncio.run(reader.read([pair], Cut(limit, truncation), names))[0]

    yield once
    pool.close()


@given(first=st.integers(0, 50), second=st.integers(0, 50), room=st.integers(0, 60))
def test_no_token_of_the_shorter_side_is_cut_while_the_longer_one_is_longer(first, second, room):
    kept = longest_first(first, second, room)
    assert sum(kept) == min(first + second, room)
    assert kept[0] <= first
    assert kept[1] <= second
    if kept[0] < first and kept[1] < second:
        assert abs(kept[0] - kept[1]) <= 1


async def test_a_side_of_its_own_bound_keeps_so_many_tokens(wordpiece, read):
    inner = copy_of(wordpiece)
    inner.no_padding()
    pair = ("plants", "one two three four five six")
    for truncation, kept in ((Truncation.END, "one two"), (Truncation.START, "five six")):
        [found] = await read(inner, [pair], 64, truncation, document_tokens=2)
        assert list(found.ids) == inner.encode("plants", kept).ids[: len(found.ids)]
        assert len(found.ids) == 6


async def test_a_pair_that_is_too_long_is_told_its_length(wordpiece, read):
    pairs = [("plants", "climb"), ("plants", "word " * 100)]
    with pytest.raises(ContextTooLong) as refused:
        await read(copy_of(wordpiece), pairs, 64, Truncation.NONE)
    assert "104" in str(refused.value)
    assert refused.value.param == "documents[1]"


@pytest.mark.parametrize("first", ["word " * 62, "word " * 100])
async def test_a_first_text_that_is_too_long_alone_is_the_one_that_is_refused(wordpiece, read, first):
    with pytest.raises(ContextTooLong, match=str(first.count("word") + 3)) as refused:
        await read(copy_of(wordpiece), [("plants", "climb"), (first, "climb")], 64, Truncation.NONE)
    assert refused.value.param == "query[1]"


async def test_a_first_text_that_fits_alone_leaves_the_blame_with_the_second_one(wordpiece, read):
    with pytest.raises(ContextTooLong) as refused:
        await read(copy_of(wordpiece), [("word " * 60, "climb climb")], 64, Truncation.NONE)
    assert refused.value.param == "documents[0]"


@pytest.mark.parametrize("truncation", [Truncation.END, Truncation.START])
async def test_a_cut_that_leaves_nothing_of_a_document_is_refused(wordpiece, read, truncation):
    [kept] = await read(copy_of(wordpiece), [("word word", "climb")], 5, truncation)
    assert len(kept.ids) == 5
    with pytest.raises(ContextTooLong, match=r"query\[0\] has 5 tokens.* of 4 .*no room") as refused:
        await read(copy_of(wordpiece), [("word word", "climb")], 4, truncation)
    assert refused.value.param == "query[0]"


async def test_types_are_left_out_where_the_model_has_none(wordpiece, read):
    [found] = await read(copy_of(wordpiece), [("plants", "climb")], 64, with_types=False)
    assert found.types == b""


def test_the_types_of_special_tokens_are_those_of_the_template(minilm):
    template = Tokenizer.load(minilm).pair_template()
    assert (template.leading, template.between, template.trailing) == ((101,), (102,), (102,))
    assert template.types == (b"\0", b"\0", b"\1")
    assert template.sides == (0, 1)


def test_a_tokenizer_that_turns_pairs_around_is_refused(unigram):
    turned = tokenizers.Tokenizer.from_str(unigram.to_str())
    turned.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $B </s> $A", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    with pytest.raises(ConfigError, match="one after the other"):
        pair_template_of(turned)


async def test_a_pair_without_any_token_is_refused(byte_level, read):
    with pytest.raises(BadRequest) as refused:
        await read(copy_of(byte_level), [("a", ""), ("", "")], 64)
    assert refused.value.param == "documents[1]"


async def test_a_long_first_side_is_tokenized_once_for_all_of_its_pairs(wordpiece, read, monkeypatch):
    """Also where which side is longer decides about the odd token, which parts of both do not tell."""
    seen: list[str] = []
    body = Tokenizer.body
    monkeypatch.setattr(Tokenizer, "body", lambda self, text: seen.append(text) or body(self, text))
    query = "plants " * 5000
    await read(copy_of(wordpiece), [(query, f"{place} " * 100) for place in range(20)], 64)
    assert seen.count(query) == 1


async def test_a_long_text_that_stands_alone_is_tokenized_off_the_loop(wordpiece, read, monkeypatch):
    """Its length decides, and not that of the missing second side."""
    threads: list[str] = []
    ids = Tokenizer.ids
    monkeypatch.setattr(
        Tokenizer, "ids", lambda self, *given: threads.append(threading.current_thread().name) or ids(self, *given)
    )
    await read(copy_of(wordpiece), [("plants " * 500, None)], 64)
    assert len(threads) == 1
    assert threads[0].startswith("ivy-tokenize")
