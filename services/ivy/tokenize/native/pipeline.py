"""`WordPieceSpec` and `UnigramSpec`: what a tokenizer.json says, as far as the compiled tokenizer can follow it.

Everything that it does not know is refused here by name; the library does the work then.
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LONGEST_PIECE_BYTES = 1024
_SPACES = frozenset(" \t\n\r")
_MARK = "▁"


class Unsupported(Exception):  # noqa: N818 (it is an answer)
    """The compiled tokenizer cannot follow this tokenizer; says what it does not know."""


@dataclass(frozen=True, slots=True)
class AddedToken:
    """A token that is cut out of the text first."""

    content: str
    id: int
    strips: bool
    """White space before it belongs to it."""


@dataclass(frozen=True, slots=True)
class WordPieceSpec:
    """A tokenizer of BERT."""

    pieces: Sequence[tuple[str, int]]
    added: Sequence[AddedToken]
    prefix: str
    unknown: int
    longest_word: int


@dataclass(frozen=True, slots=True)
class UnigramSpec:
    """A tokenizer of SentencePiece, as XLM-R has it."""

    pieces: Sequence[tuple[str, float]]
    """With their scores; the place of each is its id."""
    added: Sequence[AddedToken]
    unknown: int
    charsmap: bytes
    words_only: bool
    """Every white space parts words, and leaves no token of its own."""
    no_trailing: bool
    """White space at the end leaves no token."""


def read_pipeline(spec: Mapping[str, Any]) -> WordPieceSpec | UnigramSpec:
    """Read a tokenizer.json.

    Raises:
        Unsupported: a part of it is not known here.
    """
    kind = spec["model"]["type"]
    if kind == "WordPiece":
        return _wordpiece(spec)
    if kind == "Unigram":
        return _unigram(spec)
    raise Unsupported(f"model {kind}")


def _wordpiece(spec: Mapping[str, Any]) -> WordPieceSpec:
    # Each looks at one code point at a time.
    *before, last = (_type(part) for part in _parts(spec["normalizer"], "Sequence", "normalizers"))
    _require(last == "BertNormalizer" and set(before) <= {"Lowercase"}, "normalizer", spec["normalizer"])
    _require(_type(spec["pre_tokenizer"]) == "BertPreTokenizer", "pre_tokenizer", spec["pre_tokenizer"])
    model = spec["model"]
    _require(model["unk_token"] in model["vocab"], "model without its unknown token", model)
    pieces = list(model["vocab"].items())
    _check_pieces(piece for piece, _ in pieces)
    return WordPieceSpec(
        pieces,
        _added(spec["added_tokens"]),
        model["continuing_subword_prefix"],
        model["vocab"][model["unk_token"]],
        model["max_input_chars_per_word"],
    )


def _unigram(spec: Mapping[str, Any]) -> UnigramSpec:
    model = spec["model"]
    _require(not model.get("byte_fallback") and model["unk_id"] is not None, "model without unknown tokens", model)
    pieces = [(piece, float(score)) for piece, score in model["vocab"]]
    _check_pieces(piece for piece, _ in pieces)
    unknown = pieces[model["unk_id"]][0]
    # Then a row of unknown characters is never itself a piece, which the library would look up.
    odd = min(score for _, score in pieces) >= 0 or any(unknown in piece and piece != unknown for piece, _ in pieces)
    _require(not odd, "model with odd pieces", model)
    words_only = _splits_words(spec["pre_tokenizer"])
    charsmap, no_trailing, collapses = _normalizer(spec["normalizer"], (" ",) if words_only else (" ", _MARK))
    _require(collapses or words_only, "normalizer that keeps rows of spaces", spec["normalizer"])
    return UnigramSpec(pieces, _added(spec["added_tokens"]), model["unk_id"], charsmap, words_only, no_trailing)


def _normalizer(normalizer: Mapping[str, Any] | None, one_space: Sequence[str]) -> tuple[bytes, bool, bool]:
    """The charsmap, whether white space at the end goes, and whether rows of spaces become one of `one_space`."""
    first, *rest = _parts(normalizer, "Sequence", "normalizers")
    _require(_type(first) == "Precompiled", "normalizer", normalizer)
    strip = {"type": "Strip", "strip_left": False, "strip_right": True}
    collapse = [{"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": content} for content in one_space]
    no_trailing = rest[:1] == [strip]
    rest = rest[no_trailing:]
    _require(not rest or (len(rest) == 1 and rest[0] in collapse), "normalizer", normalizer)
    charsmap = base64.b64decode(first["precompiled_charsmap"])
    size = int.from_bytes(charsmap[:4], "little")
    whole = size % 4 == 0 and 4 + size <= len(charsmap)
    _require(whole and max(map(len, charsmap[4 + size :].split(b"\0"))) <= LONGEST_PIECE_BYTES, "charsmap", None)
    return charsmap, no_trailing, bool(rest)


def _splits_words(pre_tokenizer: Mapping[str, Any] | None) -> bool:
    parts = _parts(pre_tokenizer, "Sequence", "pretokenizers")
    metaspace = parts[-1]
    usual = metaspace is not None and (
        metaspace["type"] == "Metaspace"
        and metaspace["replacement"] == _MARK
        and metaspace.get("prepend_scheme", "always") == "always"
        and metaspace.get("add_prefix_space", True)
        and metaspace.get("split", True)
    )
    _require(
        usual and [_type(part) for part in parts[:-1]] in ([], ["WhitespaceSplit"]), "pre_tokenizer", pre_tokenizer
    )
    return len(parts) == 2


def _added(tokens: Sequence[Mapping[str, Any]]) -> list[AddedToken]:
    for token in tokens:
        odd = token["normalized"] or token["rstrip"] or token["single_word"] or not token["content"]
        _require(not odd and not _SPACES & set(token["content"]), "added token", token)
    return [AddedToken(token["content"], token["id"], token["lstrip"]) for token in tokens]


def _check_pieces(pieces: Iterable[str]) -> None:
    longest = max((len(piece.encode()) for piece in pieces), default=0)
    _require(longest <= LONGEST_PIECE_BYTES, f"piece of {longest} bytes", None)


def _parts(value: Mapping[str, Any] | None, sequence: str, key: str) -> list[Any]:
    return list(value[key]) if value is not None and value["type"] == sequence else [value]


def _type(part: Mapping[str, Any] | None) -> str | None:
    return None if part is None else part["type"]


def _require(holds: bool, what: str, part: Mapping[str, Any] | None) -> None:
    if not holds:
        raise Unsupported(f"{what} {part.get('type') or part.get('content')}" if part else what)
