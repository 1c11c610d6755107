"""Long texts of BPE tokenizers are read as far as needed, and get the ids that the whole text has."""

import json
from collections.abc import Callable, Iterator

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from ivy.tokenize import cuts, window
from ivy.tokenize.cuts import cuts_of
from ivy.tokenize.native.choice import Fallback
from ivy.tokenize.tokenizer import Tokenizer
from ivy.tokenize.truncation import Truncation
from tokenizers import AddedToken, Regex, models, normalizers, pre_tokenizers, trainers

QWEN = cuts._WORDS % ""
LINES = [
    "the other words of the text, don't they're we'll it's 1234 and 98765 more (and) {more} of them\n\n  then\tsome",
    "Die Wörter, größer und schöner; élève à l'école — été. Ελληνικά και русские слова, ещё раз",
    "中文，日本語のテキスト。もっと、한국어 단어와 문장. हिन्दी के शब्द और वाक्य। ข้อความภาษาไทย คำ",
] * 30
ADDED = [
    AddedToken("[MASK]", lstrip=True, normalized=False, special=True),
    AddedToken("<|end|>", normalized=False, special=True),
    AddedToken("   ", normalized=True),
    AddedToken("on't", normalized=False),
    AddedToken("d a", normalized=True),
]
PIECES = [
    "hello", "the", " ", "  ", "   ", "    ", "\n", "\r\n", " \n \n", "\t", "don't", "'", "'s", "'S ", "'l", "l", "1",
    "12345", "a1", "-", "_", "...", "!!\n\n", "é", "e\u0301", "\u0301", "\u0332", "\u0301\u0323", "ß", "ſ", "中",
    "文，", "。", "か\u3099", "한", "ᄒ", "ᅡ", "ᆫ", "ᬅ", "\u1b35", "হি", "স্ত", "ไทย", "🙂", "👩\u200d💻", "\x00",
    "\u00a0", "\u2028", "\u3000", "\ufeff", "▁", "a▁", "▁b", "word and a", "[MASK]", "[MA", "SK]", "<|end|>", "<|e",
    "nd|>", "d a", "on't", "İ", "\u212a", "\u037e", "ǅ", "ﬀ", "x" * 40, "9" * 40, "e" + "\u0323" * 20,
]  # fmt: skip
"""Pieces that touch each other badly: halves of added tokens, rows of spaces, marks that join what is before them."""
texts = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=60).map("".join),
    st.text(max_size=120),
    st.lists(st.sampled_from(["word", "a", "Ünïcödé", "中", "don't", "(and)"]), max_size=80).map(" ".join),
)
HOW = [Truncation.NONE, Truncation.START, Truncation.END]
Make = Callable[[], tokenizers.Tokenizer]


def of_bytes(splitter: pre_tokenizers.PreTokenizer) -> tokenizers.Tokenizer:
    inner = tokenizers.Tokenizer(models.BPE())
    inner.normalizer = normalizers.NFC()
    inner.pre_tokenizer = splitter
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    inner.train_from_iterator(
        LINES, trainers.BpeTrainer(vocab_size=700, initial_alphabet=alphabet, show_progress=False)
    )
    inner.add_tokens(ADDED)
    return inner


def split_by(pattern: str) -> pre_tokenizers.PreTokenizer:
    words = pre_tokenizers.Split(Regex(pattern), "isolated")
    return pre_tokenizers.Sequence([words, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def of_marks(*, joins: bool) -> tokenizers.Tokenizer:
    """SentencePiece's BPE: text in one piece; its pieces reach across spaces, or they do not."""
    trained = tokenizers.Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", "▁")
    if not joins:
        trained.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    bytes_ = [f"<0x{value:02X}>" for value in range(256)]
    lines = [line[begin : begin + 12] for line in LINES[:3] for begin in range(0, len(line), 9)] * 9
    trained.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=900, special_tokens=bytes_, show_progress=False))
    model = json.loads(trained.to_str())["model"]
    merges = [tuple(pair) for pair in model["merges"]]
    inner = tokenizers.Tokenizer(models.BPE(model["vocab"], merges, byte_fallback=True, fuse_unk=True))
    inner.normalizer = normalizers.Replace(" ", "▁")
    inner.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    inner.add_tokens(ADDED)
    return inner


KINDS: dict[str, Make] = {
    "ModernBERT's": lambda: of_bytes(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "Qwen's": lambda: of_bytes(split_by(QWEN)),
    "Llama's": lambda: of_bytes(split_by(cuts._WORDS % "{1,3}")),
    "Gemma's": lambda: of_marks(joins=False),
    "one that joins words": lambda: of_marks(joins=True),
}


@pytest.fixture(scope="module", params=KINDS)
def inner(request: pytest.FixtureRequest) -> tokenizers.Tokenizer:
    return KINDS[request.param]()


@pytest.fixture(scope="module", autouse=True)
def small_runs() -> Iterator[None]:
    """Runs so small that short texts have many cuts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(window, "LEAST_CHARACTERS", 8)
        patch.setattr(window, "FIRST_CHARACTERS_PER_TOKEN", 2)
        patch.setattr(window, "PART_CHARACTERS", 24)
        yield


@pytest.fixture(scope="module")
def ours(inner: tokenizers.Tokenizer, small_runs: None) -> Tokenizer:
    """Made once: that it sees whether it reads as the library does costs more than all examples."""
    return Tokenizer(inner)


@settings(max_examples=80, deadline=None)
@given(text=texts)
def test_each_clean_cut_parts_the_ids_of_the_whole(inner: tokenizers.Tokenizer, text: str) -> None:
    own = cuts_of(inner)
    assert own is not None
    whole = inner.encode(text, add_special_tokens=False).ids
    for place in own._places(text, 0, len(text)):
        parts = [inner.encode(part, add_special_tokens=False).ids for part in (text[:place], text[place:])]
        assert parts[0] + parts[1] == whole, (text[:place], text[place:])


@settings(max_examples=80, deadline=None)
@given(
    text=texts,
    limit=st.integers(1, 30),
    truncation=st.sampled_from([Truncation.NONE, Truncation.START, Truncation.END]),
)
def test_a_text_that_is_read_in_part_has_the_ids_of_the_whole(
    inner: tokenizers.Tokenizer, ours: Tokenizer, text: str, limit: int, truncation: Truncation
) -> None:
    whole = inner.encode(text, add_special_tokens=False).ids
    if truncation is Truncation.NONE:
        assert ours.ids(text, 10**6, truncation) == whole
        return
    kept = whole[:limit] if truncation is Truncation.END else whole[max(0, len(whole) - limit) :]
    assert ours.ids(text, limit, truncation) == kept


@pytest.mark.parametrize("truncation", [Truncation.START, Truncation.END])
def test_of_a_megabyte_that_is_cut_only_a_small_part_is_read(
    inner: tokenizers.Tokenizer, truncation: Truncation, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    tokenizer = Tokenizer(inner)

    def counted(own: tokenizers.Tokenizer, text: str) -> list[int]:
        read.append(len(text))
        return list(own.encode(text, add_special_tokens=False).ids)

    monkeypatch.setattr(cuts, "whole_ids", counted)
    monkeypatch.setattr(window, "FIRST_CHARACTERS_PER_TOKEN", 6)
    text = "other words, then " * 60_000
    found = tokenizer.ids(text, 256, truncation)
    assert len(found) == 256
    assert sum(read) < 10_000
    near = text[:9000] if truncation is Truncation.END else text[-9000:]
    whole = inner.encode(near, add_special_tokens=False).ids
    assert found == (whole[:256] if truncation is Truncation.END else whole[-256:])


def changed(make: Make, **parts: object) -> tokenizers.Tokenizer:
    spec = json.loads(make().to_str())
    for path, value in parts.items():
        *names, last = path.split("__")
        inside = spec
        for name in names:
            inside = inside[name]
        inside[last] = value
    return tokenizers.Tokenizer.from_str(json.dumps(spec))


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("ModernBERT's", {"normalizer": {"type": "NFKC"}}),
        ("ModernBERT's", {"pre_tokenizer__add_prefix_space": True}),
        ("ModernBERT's", {"pre_tokenizer": {"type": "Whitespace"}}),
        ("ModernBERT's", {"model__dropout": 0.5}),
        ("Qwen's", {"pre_tokenizer": json.loads(of_bytes(split_by(r"\w+|\s+")).to_str())["pre_tokenizer"]}),
        ("Gemma's", {"model__ignore_merges": True}),
        ("Gemma's", {"model__byte_fallback": False}),
    ],
    ids=str,
)
def test_what_is_not_known_to_be_clean_is_not_cut(kind: str, parts: dict[str, object]) -> None:
    assert cuts_of(changed(KINDS[kind], **parts)) is None


@pytest.mark.parametrize("flag", [{"single_word": True}, {"rstrip": True}])
def test_added_tokens_that_look_around_are_not_cut(flag: dict[str, bool]) -> None:
    inner = KINDS["Qwen's"]()
    inner.add_tokens([AddedToken("word", **flag)])
    assert cuts_of(inner) is None


def test_cuts_that_would_give_other_ids_are_seen_at_the_start_and_texts_are_read_whole(monkeypatch):
    """As if a splitter that is not known had been taken for one that is: here a cut falls within a word."""
    monkeypatch.setattr(cuts, "_LETTERS", "a-zа-я")
    monkeypatch.setattr(cuts, "_BEHIND", "a-zа-я")
    inner = of_bytes(split_by(QWEN))
    made = Tokenizer(inner)
    assert made.fallback is Fallback.MISMATCH
    text = "the other words " * 400
    assert list(made.body(text)) == inner.encode(text, add_special_tokens=False).ids


def test_cuts_of_known_splitters_pass_the_check():
    made = Tokenizer(of_bytes(split_by(QWEN)))
    assert made.fallback is None
    assert isinstance(made._window, cuts.Cuts)
