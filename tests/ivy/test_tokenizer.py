"""The tokenizer that cuts by hand, against the library's own truncation on the same texts."""

from functools import cache

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from ivy.errors import ConfigError
from ivy.tokenize import window
from ivy.tokenize.pool import JOB_CHARACTERS, jobs_of
from ivy.tokenize.tokenizer import Tokenizer, TooLong, cut_ids
from ivy.tokenize.truncation import Truncation
from ivy.tokenize.window import window_of
from tokenizers import models, normalizers, pre_tokenizers, processors

SIDES = {Truncation.END: "right", Truncation.START: "left"}

TRICKY = [
    "hello ", "world", "中文", "[MASK]", "[MA", "SK]", "[CLS]", " ", "\n", "\u3000", "\x00", "\x00" * 40,
    "\u200d", "\ufffd",
    "\u0301", "é", "e\u0301", "ß", "İ", "Σ", "\u302e", "\u0600", "a" * 150, "1" * 90, "b" * 400, "_", "-", "...",
    "สวัสดี", "한국어", "🙂", "supercalifragilistic", "##s", "don't",
]  # fmt: skip
"""Pieces that touch each other badly: halves of added tokens, endless words, marks, characters that are removed."""

texts = st.one_of(
    st.lists(st.sampled_from(TRICKY), max_size=80).map("".join),
    st.text(max_size=200),
    st.lists(st.sampled_from(["word", "a", "Ünïcödé", "中"]), max_size=300).map(" ".join),
)


@pytest.fixture(scope="module")
def windowed(minilm):
    """A tokenizer without the compiled one: the library reads windows of long texts."""
    return Tokenizer(tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json")))


@pytest.fixture(scope="module", params=["compiled", "windowed"])
def tokenizer(request, minilm):
    return Tokenizer.load(minilm) if request.param == "compiled" else request.getfixturevalue("windowed")


@pytest.fixture(scope="module")
def reference(minilm):
    @cache
    def of(max_tokens: int, side: str) -> tokenizers.Tokenizer:
        own = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
        own.no_padding()
        own.enable_truncation(max_tokens, direction=side)
        return own

    return lambda text, max_tokens, truncation: of(max_tokens, SIDES[truncation]).encode(text).ids


@pytest.fixture(scope="module", autouse=True)
def small_windows():
    """Windows so small that short texts have many cuts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "LEAST_CHARACTERS", 8)
        patch.setattr(window, "FIRST_CHARACTERS_PER_TOKEN", 2)
        patch.setattr(window, "PART_CHARACTERS", 24)
        yield


@pytest.fixture
def real_windows(small_windows):
    """Windows as they are served."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "LEAST_CHARACTERS", 512)
        patch.setattr(window, "FIRST_CHARACTERS_PER_TOKEN", 6)
        patch.setattr(window, "PART_CHARACTERS", 32 * 1024)
        yield


@settings(max_examples=300, deadline=None)
@given(text=texts, max_tokens=st.integers(2, 40), truncation=st.sampled_from(list(SIDES)))
def test_a_part_of_a_text_gives_exactly_the_ids_of_the_whole(tokenizer, reference, text, max_tokens, truncation):
    assert tokenizer.ids(text, max_tokens, truncation) == reference(text, max_tokens, truncation)


@settings(max_examples=300, deadline=None)
@given(text=texts)
def test_a_text_that_is_tokenized_part_by_part_gives_exactly_the_ids_of_the_whole(tokenizer, reference, text):
    assert tokenizer.ids(text, 10**6, Truncation.NONE) == reference(text, 10**6, Truncation.END)


@pytest.mark.parametrize("removed", range(1, 60))
@pytest.mark.parametrize("truncation", [Truncation.NONE, *SIDES])
def test_a_word_goes_on_behind_characters_that_are_removed(tokenizer, reference, truncation, removed):
    text = "ab" + "\x00" * removed + "cd" + " more words of a text" * 3
    text = text if truncation is not Truncation.START else text[::-1]
    limit = 3 if truncation is not Truncation.NONE else 100
    assert tokenizer.ids(text, limit, truncation) == reference(
        text, limit, Truncation.END if truncation is Truncation.NONE else truncation
    )


@pytest.mark.usefixtures("real_windows")
@pytest.mark.parametrize("truncation", list(SIDES))
@pytest.mark.parametrize(
    "text",
    ["word and " * 120_000, "中文" * 150_000, "x" * 1_000_000, "x" * 500_000 + " " + "y" * 500_000, "สวัสดี" * 50_000],
    ids=["english", "chinese", "one endless word", "two endless words", "no spaces"],
)
def test_a_megabyte_is_cut_to_the_ids_of_the_whole(tokenizer, reference, text, truncation):
    assert tokenizer.ids(text, 256, truncation) == reference(text, 256, truncation)


@pytest.mark.usefixtures("real_windows")
def test_of_a_megabyte_that_is_cut_only_a_small_part_is_tokenized(windowed, monkeypatch):
    seen = []
    own = window.Window._sure_ids
    monkeypatch.setattr(
        window.Window, "_sure_ids", lambda self, part, **more: (seen.append(len(part)), own(self, part, **more))[1]
    )
    monkeypatch.setattr(window, "whole_ids", lambda inner, text: pytest.fail("the whole text was tokenized"))
    for text in ("several words of a text " * 45_000, "中文" * 150_000):
        for truncation in SIDES:
            windowed.ids(text, 256, truncation)
    assert max(seen) <= 8_000


def test_a_text_that_must_not_be_cut_is_refused_with_its_whole_length(tokenizer, minilm):
    whole = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    whole.no_truncation()
    whole.no_padding()
    text = "some words " * 5000
    with pytest.raises(TooLong) as refused:
        tokenizer.ids(text, 256, Truncation.NONE)
    assert refused.value.tokens == len(whole.encode(text).ids)


@pytest.mark.usefixtures("real_windows")
def test_of_a_megabyte_that_is_refused_only_parts_are_in_memory_at_a_time(windowed, monkeypatch):
    seen = []

    class Part(window._Part):
        def __init__(self, inner, text):
            seen.append(len(text))
            super().__init__(inner, text)

    monkeypatch.setattr(window, "_Part", Part)
    with pytest.raises(TooLong) as refused:
        windowed.ids("word " * 200_000, 256, Truncation.NONE)
    assert refused.value.tokens == 200_002
    assert max(seen) == window.PART_CHARACTERS


def test_the_padding_and_truncation_of_the_file_are_switched_off(tokenizer):
    assert len(tokenizer.ids("one", 256, Truncation.NONE)) == 3
    assert len(tokenizer.ids("one " * 200, 256, Truncation.NONE)) == 202


def test_special_tokens_stay_when_nothing_else_fits(tokenizer):
    assert tokenizer.ids("one two", 2, Truncation.END) == [101, 102]
    assert tokenizer.ids("one two", 2, Truncation.START) == [101, 102]


@given(ids=st.lists(st.integers(0, 9), min_size=1, max_size=20), limit=st.integers(1, 20))
def test_token_ids_are_cut_at_the_end_that_was_asked(ids, limit):
    assert list(cut_ids(ids, limit, Truncation.END)) == ids[:limit]
    assert list(cut_ids(ids, limit, Truncation.START)) == ids[-limit:]
    if len(ids) > limit:
        with pytest.raises(TooLong):
            cut_ids(ids, limit, Truncation.NONE)


def _unigram(leading: str) -> tokenizers.Tokenizer:
    """A tokenizer whose pieces may span anything, as those of multilingual models."""
    inner = tokenizers.Tokenizer(
        models.Unigram([("<unk>", 0.0), ("a", -1.0), ("ab", -1.5), ("ba", -1.2), ("▁", -2.0)], 0)
    )
    inner.normalizer = normalizers.NFKC()
    inner.pre_tokenizer = pre_tokenizers.Metaspace()
    inner.add_special_tokens(["<s>", "</s>"])
    ids = [(token, inner.token_to_id(token)) for token in ("<s>", "</s>")]
    inner.post_processor = processors.TemplateProcessing(single=leading, special_tokens=ids)
    return inner


@given(text=st.text(alphabet="ab ", max_size=300), truncation=st.sampled_from(list(SIDES)))
def test_tokenizers_without_a_law_of_words_are_cut_from_the_whole_text(text, truncation):
    inner = _unigram("<s> $A </s>")
    assert window_of(inner) is None
    ours = Tokenizer(inner).ids(text, 8, truncation)
    own = _unigram("<s> $A </s>")
    own.enable_truncation(8, direction=SIDES[truncation])
    assert ours == own.encode(text).ids


def test_special_tokens_may_stand_on_one_side_only():
    inner = _unigram("$A </s>")
    template = Tokenizer(inner).template
    assert (template.leading, template.trailing) == ((), (inner.token_to_id("</s>"),))


def test_a_folder_without_a_tokenizer_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="missing"):
        Tokenizer.load(tmp_path)
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigError, match="not a tokenizer"):
        Tokenizer.load(tmp_path)


@given(sizes=st.lists(st.integers(1, 2 * JOB_CHARACTERS), min_size=1, max_size=50))
def test_texts_are_split_into_jobs_without_loss_and_within_their_size(sizes):
    several = ["x" * size for size in sizes]
    jobs = list(jobs_of(several))
    assert [place for first, end in jobs for place in range(first, end)] == list(range(len(sizes)))
    assert all(sum(sizes[first:end]) <= JOB_CHARACTERS or end - first == 1 for first, end in jobs)
