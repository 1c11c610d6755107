"""The ids of padding, beginning and end: as `config.json` says, and as the tokenizer's files say.

Knows no torch and no tokenizer; decides nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tulip_rose.rose.folder import read_object
from tulip_rose.rose.tokenizer_file import TokenizerFile

_ROLES = {"padding": ("pad",), "beginning": ("bos", "cls"), "end": ("eos", "sep")}
_NAMING_FILES = ("special_tokens_map.json", "tokenizer_config.json")


@dataclass(frozen=True, slots=True)
class Special:
    """One role that both sides name.

    Attributes:
        role: in a word.
        config: the ids that `config.json` has for it: several where it names several.
        tokenizer: the ids that the tokenizer has for it.
    """

    role: str
    config: frozenset[int]
    tokenizer: frozenset[int]

    @property
    def agrees(self) -> bool:
        """Whether an id is common: published models name a second beginning or end on one side alone."""
        return bool(self.config & self.tokenizer)


def read_special(folder: Path, config: Mapping[str, Any], rows: int, tokenizer: TokenizerFile) -> list[Special]:
    """Read the roles that both sides name.

    Args:
        folder: of the model.
        config: its `config.json`.
        rows: of the table of words. An id behind it is a default that nobody changed.
        tokenizer: of the folder.

    Raises:
        LoadError: a file is not readable.
    """
    named: dict[str, Any] = {}
    for file in _NAMING_FILES:
        named |= read_object(folder, file)
    found = [
        Special(
            role,
            frozenset(id for key in keys for id in _ids(config.get(f"{key}_token_id")) if id < rows),
            frozenset(id for key in keys for id in _ids(_id(named.get(f"{key}_token"), tokenizer))),
        )
        for role, keys in _ROLES.items()
    ]
    return [special for special in found if special.config and special.tokenizer]


def _id(token: Any, tokenizer: TokenizerFile) -> int | None:
    text = token.get("content") if isinstance(token, dict) else token
    return tokenizer.id_of(text) if isinstance(text, str) else None


def _ids(value: Any) -> list[int]:
    """One id, or a list of them."""
    values = value if isinstance(value, list) else [value]
    return [id for id in values if isinstance(id, int) and not isinstance(id, bool) and id >= 0]
