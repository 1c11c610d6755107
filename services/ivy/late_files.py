"""`LateFile`: what a model's files say of texts whose tokens have vectors of their own. Knows no request.

Four layouts are read: PyLate's, sentence-transformers', ColBERT's own, and a layer beside bge-m3.
"""

import string
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ivy.embedding import read_json
from ivy.errors import ConfigError

_ST, _STANFORD = "config_sentence_transformers.json", "artifact.metadata"
_TRANSFORMERS = ("sentence_bert_config.json", "sentence_roberta_config.json", "sentence_distilbert_config.json")
_PYLATE_KEYS = ("query_prefix", "document_prefix", "do_query_expansion", "attend_to_expansion_tokens", "skiplist_words")
_PUNCTUATION = tuple(string.punctuation)
_QUERY_TOKENS = 32
"""Of a query that is filled up, where nothing says."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """Queries are filled up with a token."""

    length: int
    """Tokens of a query, special ones included."""
    attend: bool = False
    """Whether what is filled in is seen by the other tokens."""
    fixed: bool = True
    """Whether a longer query is cut to the length."""
    token: str | None = None
    """None: the tokenizer's mask, else its end."""


@dataclass(frozen=True, slots=True)
class LateFile:
    """How texts become tokens with vectors, and which of them count."""

    prefixes: tuple[str, str] = ("", "")
    """Of a query and of a document: texts, or single tokens of the tokenizer."""
    expansion: Expansion | None = None
    query_length: int | None = None
    """The longest query in tokens; None: as any text."""
    skipped: tuple[str, ...] = ()
    """Tokens whose vectors do not count."""
    skips_queries: bool = False
    skips_documents: bool = True
    skips_first: bool = False
    """Whether the first token does not count."""

    def prefixed(self, prompts: Mapping[str, str]) -> dict[str, str]:
        """The prompts of the model with the prefixes before them, which stand there once."""
        found = dict(prompts)
        for name, prefix in zip(("query", "document"), self.prefixes, strict=True):
            if prefix:
                found[name] = prefix + found.get(name, "").removeprefix(prefix)
        return found


def read_late(folder: Path) -> LateFile | None:
    """Read the files of a model; None where its tokens have no vectors of their own.

    Raises:
        ConfigError: a file is wrong, or says what is not supported.
    """
    own, modules = _object(folder / _ST), _modules(folder)
    if "HF_ColBERT" in (_object(folder / "config.json").get("architectures") or []) and not modules:
        return _stanford(_object(folder / _STANFORD))
    mask = next((path for kind, path in modules if kind.endswith(".MultiVectorMask")), None)
    if own.get("model_type") == "ColBERT" or (mask is None and any(kind.startswith("pylate.") for kind, _ in modules)):
        return _pylate(own)
    if mask is not None:
        return _native(folder, mask, own)
    return LateFile(skips_first=True) if (folder / "colbert_linear.safetensors").is_file() else None


def _pylate(own: dict[str, Any]) -> LateFile:
    skipped = own.get("skiplist_words")
    return LateFile(
        prefixes=(own.get("query_prefix") or "", own.get("document_prefix") or ""),
        expansion=_pylate_expansion(own),
        query_length=own.get("query_length"),
        skipped=_PUNCTUATION if skipped is None else tuple(skipped),
    )


def _pylate_expansion(own: dict[str, Any]) -> Expansion | None:
    if "query_expansion" in own:
        return _expansion(own["query_expansion"], _ST)
    if own.get("do_query_expansion") is False:
        return None
    attend = own.get("attend_to_expansion_tokens", own.get("attend_to_mask_tokens"))
    return Expansion(own.get("query_length") or _QUERY_TOKENS, bool(attend))


def _native(folder: Path, mask: str, own: dict[str, Any]) -> LateFile:
    says = _object(folder / mask / "config.json")
    if says.get("keep_only_token_ids"):
        raise ConfigError(f"{folder / mask / 'config.json'}: keep_only_token_ids is not supported")
    tasks = says.get("skiplist_tasks") or ["document"]
    name = next((name for name in _TRANSFORMERS if (folder / name).is_file()), _TRANSFORMERS[0])
    transformer = _object(folder / name)
    return LateFile(
        prefixes=(own.get("query_prefix") or "", own.get("document_prefix") or ""),
        expansion=_expansion(transformer.get("query_expansion"), name),
        query_length=transformer.get("query_length"),
        skipped=tuple(says.get("skiplist_words") or ()),
        skips_queries="query" in tasks,
        skips_documents="document" in tasks,
    )


def _stanford(metadata: dict[str, Any]) -> LateFile:
    names = (metadata.get("query_token_id") or "[unused0]", metadata.get("doc_token_id") or "[unused1]")
    length = metadata.get("query_maxlen") or _QUERY_TOKENS
    return LateFile(
        prefixes=(f"{names[0]} ", f"{names[1]} "),
        expansion=Expansion(length, bool(metadata.get("attend_to_mask_tokens"))),
        skipped=_PUNCTUATION if metadata.get("mask_punctuation", True) else (),
    )


def _expansion(value: Any, where: str) -> Expansion | None:
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) - {"strategy", "attend", "token", "length"}:
        raise ConfigError(f"{where}: query_expansion {value!r} is not understood")
    length, strategy = value.get("length"), value.get("strategy")
    if not isinstance(length, int) or isinstance(length, bool) or length < 1 or strategy not in ("fixed", "min"):
        raise ConfigError(f"{where}: query_expansion needs a length above 0, and fixed or min as strategy")
    return Expansion(length, bool(value.get("attend")), strategy == "fixed", value.get("token"))


def _modules(folder: Path) -> list[tuple[str, str]]:
    """The kind and the folder of each module."""
    path = folder / "modules.json"
    entries = read_json(path) if path.is_file() else []
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ConfigError(f"{path}: not a list of modules")
    return [(str(entry.get("type", "")), str(entry.get("path", ""))) for entry in entries]


def _object(path: Path) -> dict[str, Any]:
    """A JSON object, empty where the file is not there."""
    value = read_json(path) if path.is_file() else {}
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: not a JSON object")
    return value
