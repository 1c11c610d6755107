"""The compiled tokenizer gives the ids of the library, whatever the text."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.corpora import declarations
from bench.texts import code, english

FIRST = [("wordpiece", "lower case"), ("unigram", "spaces")]
OTHERS = [
    *(("wordpiece", each) for each in ("cased", "accents stay", "accents go, case stays", "no cleaning")),
    *(("wordpiece", each) for each in ("no Chinese spaces", "small words", "lower case first")),
    *(("unigram", each) for each in ("words only", "stripped")),
]
EVERY = 12
"""Of the declarations' 48,000 paragraphs one in so many is read: 500 languages in a few seconds."""


def unsure_of(library, encoder, texts) -> int:
    """How many texts are left to the library; the ids of all others must be equal."""
    wanted = library.encode_batch_fast(list(texts), add_special_tokens=False)
    unsure = 0
    for text, encoding in zip(texts, wanted, strict=True):
        found = encoder.ids(text)
        unsure += found is None
        assert found is None or list(found) == encoding.ids, ascii(text)
    return unsure


@pytest.mark.parametrize(("kind", "variant"), FIRST)
def test_ids_are_equal_in_500_languages_and_next_to_none_are_left_to_the_library(both, kind, variant):
    library, encoder = both(kind, variant)
    paragraphs = declarations()[::EVERY]
    texts = [*paragraphs, *("\n".join(paragraphs[at::40]) for at in range(40))]
    unsure_of(library, encoder, texts[-40:])
    assert unsure_of(library, encoder, texts) <= len(texts) // 200


@pytest.mark.parametrize(("kind", "variant"), FIRST)
def test_ids_of_english_and_of_source_are_equal_and_none_is_left_to_the_library(both, kind, variant):
    assert unsure_of(*both(kind, variant), [*english()[:1500], *code()[:200]]) == 0


@settings(max_examples=150, deadline=None)
@given(data=st.data())
@pytest.mark.parametrize(("kind", "variant"), [*FIRST, *OTHERS])
def test_ids_of_hostile_texts_are_equal_whole_and_from_both_ends(both, hostile, kind, variant, data):
    library, encoder = both(kind, variant)
    text = data.draw(hostile)
    wanted = library.encode(text, add_special_tokens=False).ids
    count = data.draw(st.integers(0, len(wanted)))
    whole, begin, end = encoder.ids(text), encoder.ids(text, count), encoder.ids(text, count, at_start=False)
    assert whole is None or list(whole) == wanted
    assert begin is None or list(begin[:count]) == wanted[:count]
    assert end is None or list(end[len(end) - count :]) == wanted[len(wanted) - count :]


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_of_equally_likely_pieces_those_of_the_library_are_taken(pair_of, small, data):
    letters = "ab▁é"
    score = st.sampled_from([-1.0, -2.0, -3.0, -0.1, -0.2, -0.3, -1.1])
    pieces = data.draw(st.lists(st.tuples(st.text(letters, min_size=1, max_size=4), score), min_size=1, max_size=12))
    library, encoder = pair_of(small["unigram"]([("<unk>", 0.0), *pieces]))
    for text in data.draw(st.lists(st.text(letters + "c ", max_size=24), max_size=12)):
        assert list(encoder.ids(text)) == library.encode(text).ids, (pieces, text)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_words_are_read_by_the_longest_pieces_as_the_library_does(pair_of, small, data):
    letters = "ab中é#"
    piece = st.builds("{}{}".format, st.sampled_from(["", "##", "_"]), st.text("abé", min_size=1, max_size=4))
    pieces = data.draw(st.lists(piece, max_size=12))
    prefix, longest = data.draw(st.sampled_from(["##", "_", ""])), data.draw(st.integers(1, 6))
    library, encoder = pair_of(small["wordpiece"](pieces, prefix, longest))
    for text in data.draw(st.lists(st.text(letters + "c ", max_size=24), max_size=12)):
        assert list(encoder.ids(text)) == library.encode(text).ids, (pieces, prefix, longest, text)


@pytest.mark.parametrize(("kind", "variant"), FIRST)
def test_words_met_before_and_words_met_first_have_the_same_ids(both, kind, variant):
    library, encoder = both(kind, variant)
    # More words than are remembered, twice: most are pushed out by others in between.
    texts = [
        " ".join(f"w{number}x{number * 7919 % 1000}" for number in range(at, at + 500)) for at in range(0, 80_000, 500)
    ]
    for _ in range(2):
        assert unsure_of(library, encoder, texts) == 0


@pytest.mark.parametrize(("kind", "variant"), FIRST)
def test_threads_do_not_disturb_each_other(both, kind, variant):
    library, encoder = both(kind, variant)
    texts = [text * 20 for text in english()[:64]]
    wanted = [encoding.ids for encoding in library.encode_batch_fast(texts, add_special_tokens=False)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda at: list(encoder.ids(texts[at % 64])), range(256)))
    assert found == wanted * 4


@pytest.mark.parametrize(("kind", "variant"), FIRST)
@pytest.mark.parametrize(
    "text",
    ["word and " * 60_000, "中文" * 60_000, "x" * 400_000, "สวัสดี" * 30_000, " " * 400_000, "e\u0301" * 90_000],
    ids=["english", "chinese", "one endless word", "thai", "spaces", "accents"],
)
def test_long_texts_have_equal_ids_from_both_ends(both, kind, variant, text):
    library, encoder = both(kind, variant)
    wanted = library.encode_batch_fast([text], add_special_tokens=False)[0].ids
    assert list(encoder.ids(text)) == wanted
    count = min(300, len(wanted))
    assert list(encoder.ids(text, count)[:count]) == wanted[:count]
    assert list(encoder.ids(text, count, at_start=False)[-count:]) == wanted[-count:]


@pytest.mark.parametrize(("kind", "variant"), FIRST)
def test_of_a_long_text_that_is_cut_only_an_end_is_read(both, kind, variant):
    _, encoder = both(kind, variant)
    text = "several words of a text " * 40_000
    assert len(encoder.ids(text, 256)) <= 257
    assert len(encoder.ids(text, 256, at_start=False)) <= 1024


def test_a_text_with_half_a_surrogate_pair_is_refused(both):
    _, encoder = both("wordpiece", "lower case")
    with pytest.raises(UnicodeEncodeError, match="surrogate"):
        encoder.ids("a\ud800b")
