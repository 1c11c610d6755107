"""`tokenizer.json` as far as an engine reads it: its kind, its pieces and its ids. Ids of texts are made elsewhere.

Knows no torch, no tokenizer and no model.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tulip_rose.rose.folder import read_object

FILE = "tokenizer.json"

WORD_PIECE = "WordPiece"
UNIGRAM = "Unigram"
BYTE_LEVEL_BPE = "byte-level BPE"
FALLBACK_BPE = "BPE with byte fallback"
BPE = "BPE"


@dataclass(frozen=True, slots=True)
class TokenizerFile:
    """The file's own JSON; see `of`."""

    values: dict[str, Any]
    model: dict[str, Any]

    @classmethod
    def of(cls, folder: Path) -> "TokenizerFile | None":
        """Read the file of a model's folder; None where there is none, or nothing in it says what a text becomes.

        Raises:
            LoadError: the file is not readable.
        """
        values = read_object(folder, FILE)
        model = values.get("model")
        return cls(values, model) if isinstance(model, dict) else None

    @property
    def kind(self) -> str | None:
        """What its pieces are: one of the words above, or another that the file has; None where none can be told."""
        kind = self.model.get("type") or self._untold_kind()
        if kind != BPE:
            return kind if isinstance(kind, str) else None
        if self.model.get("byte_fallback") is True:
            return FALLBACK_BPE
        return BYTE_LEVEL_BPE if self._splits_bytes() else BPE

    @property
    def largest_id(self) -> int:
        """Of the vocabulary without the tokens that were added to it; -1 where it is empty."""
        vocabulary = self.model.get("vocab")
        if isinstance(vocabulary, dict):
            return max((id for id in vocabulary.values() if isinstance(id, int)), default=-1)
        return len(vocabulary) - 1 if isinstance(vocabulary, list) else -1

    @property
    def pieces(self) -> int:
        """How many there are, added ones included."""
        own = self.largest_id + 1
        return own + sum(id >= own for id in self._added().values())

    @property
    def begins(self) -> bool:
        """Whether a token is put in front of each text."""
        return any(_begins(step) for step in _steps(self.values.get("post_processor")))

    @property
    def ends(self) -> bool:
        """Whether a token is put behind each text."""
        return any(_ends(step) for step in _steps(self.values.get("post_processor")))

    def id_of(self, token: str) -> int | None:
        """The id of a token, added or not; None where there is none."""
        added = self._added()
        if token in added:
            return added[token]
        vocabulary = self.model.get("vocab")
        if isinstance(vocabulary, dict):
            id = vocabulary.get(token)
            return id if isinstance(id, int) else None
        pieces = vocabulary if isinstance(vocabulary, list) else []
        return next(
            (place for place, piece in enumerate(pieces) if isinstance(piece, list) and piece[:1] == [token]), None
        )

    def _added(self) -> dict[str, int]:
        added = self.values.get("added_tokens")
        entries = [each for each in added if isinstance(each, dict)] if isinstance(added, list) else []
        found = ((each.get("content"), each.get("id")) for each in entries)
        return {token: id for token, id in found if isinstance(token, str) and isinstance(id, int)}

    def _untold_kind(self) -> str | None:
        """Of a file from before kinds were written down: by the key that only one kind has."""
        if isinstance(self.model.get("vocab"), list):
            return UNIGRAM
        if "merges" in self.model:
            return BPE
        return WORD_PIECE if "max_input_chars_per_word" in self.model else None

    def _splits_bytes(self) -> bool:
        parts = (self.values.get(part) for part in ("pre_tokenizer", "decoder"))
        return any(step.get("type") == "ByteLevel" for part in parts for step in _steps(part))


def _steps(part: Any) -> list[dict[str, Any]]:
    """The steps of a part of the file: itself, or those of a sequence."""
    if not isinstance(part, dict):
        return []
    if part.get("type") != "Sequence":
        return [part]
    inner: Any = next((part[key] for key in ("processors", "pretokenizers", "decoders") if key in part), [])
    return [step for step in inner if isinstance(step, dict)] if isinstance(inner, list) else []


def _begins(step: dict[str, Any]) -> bool:
    return _is_special(step, 0)


def _ends(step: dict[str, Any]) -> bool:
    return _is_special(step, -1)


def _is_special(step: dict[str, Any], place: int) -> bool:
    """Whether what stands there, around a text, is a token of the tokenizer's own."""
    if step.get("type") in ("BertProcessing", "RobertaProcessing"):
        return True
    single = step.get("single")
    there = single[place] if isinstance(single, list) and single else None
    return isinstance(there, dict) and "SpecialToken" in there
