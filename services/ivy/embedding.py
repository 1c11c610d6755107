"""`EmbeddingRules`: what the manifest's `spec.embedding` asks of the gateway, read from a JSON file.

The manifest is validated where it is applied; here its fields are checked again because a file can be written by hand.
Knows no argument parser and no tokenizer.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ivy.errors import ConfigError
from ivy.scoring.rules import ScoringRules, scoring_rules_of

TRUNCATIONS = ("error", "end", "start", "chunk")
MAX_FILE_BYTES = 1024 * 1024

_FOR_THE_ENGINE = frozenset({"pooling", "normalize", "dimensions", "maxInputTokens"})
_KNOWN = (
    frozenset({"documentWindows", "lateChunking", "scoring", "truncation", "prompts", "defaultPrompt"})
    | _FOR_THE_ENGINE
)


@dataclass(frozen=True, slots=True)
class DocumentWindows:
    """How a document of chunks that is longer than the model reads is split."""

    tokens: int | None = None
    """Of a window, special tokens included; None: the longest input of the model."""
    overlap_tokens: int | None = None
    """That a window shares with the one before; None: an eighth of a window."""


@dataclass(frozen=True, slots=True)
class EmbeddingRules:
    """What stands above the model's own files; None leaves the word to them."""

    truncation: str | None = None
    """What happens to an input that is too long when the caller says nothing: one of TRUNCATIONS."""
    prompts: Mapping[str, str] | None = None
    """Texts that go before an input, by name."""
    default_prompt: str | None = None
    """The name of the one that is taken when the caller asks for none."""
    late_chunking: bool = False
    """Whether the chunks of a document may be embedded in one pass by a model that was not trained for it."""
    document_windows: DocumentWindows = DocumentWindows()
    scoring: ScoringRules | None = None
    """How pairs are scored."""


def read_rules(path: Path) -> EmbeddingRules:
    """Read the file of `--embedding`.

    Raises:
        ConfigError: it cannot be read, is no JSON object, or has a field that is unknown or has a wrong value.
    """
    try:
        return rules_of(read_json(path))
    except ConfigError as error:
        text = str(error)
        raise ConfigError(text if text.startswith(str(path)) else f"{path}: {text}") from None


def read_json(path: Path) -> Any:
    """Read a small JSON file.

    Raises:
        ConfigError: names the file, and why it cannot be read.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    if len(data) > MAX_FILE_BYTES:
        raise ConfigError(f"{path}: {len(data)} bytes, at most {MAX_FILE_BYTES} are read")
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not JSON: {error}") from None


def rules_of(spec: Any) -> EmbeddingRules:
    """Check the fields of `spec.embedding`.

    Raises:
        ConfigError: names the field.
    """
    if not isinstance(spec, dict):
        raise ConfigError("not a JSON object")
    unknown = sorted(set(spec) - _KNOWN)
    if unknown:
        raise ConfigError(f"unknown field {unknown[0]!r}: known are {', '.join(sorted(_KNOWN))}")
    truncation = spec.get("truncation")
    if truncation is not None and truncation not in TRUNCATIONS:
        raise ConfigError(f"truncation {truncation!r} is not one of {', '.join(TRUNCATIONS)}")
    return EmbeddingRules(
        truncation,
        prompts_of("prompts", spec.get("prompts")),
        _name(spec.get("defaultPrompt")),
        _flag("lateChunking", spec.get("lateChunking")),
        _windows(spec.get("documentWindows")),
        scoring_rules_of(spec.get("scoring")),
    )


def prompts_of(field: str, value: Any) -> dict[str, str] | None:
    """Check a table of prompts: names to texts.

    Raises:
        ConfigError: names the field.
    """
    if value is None:
        return None
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise ConfigError(f"{field} is not an object of names and texts")
    return dict(value)


def _name(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ConfigError(f"defaultPrompt {value!r} is not a name")


def _flag(field: str, value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    raise ConfigError(f"{field} {value!r} is not true or false")


def _windows(value: Any) -> DocumentWindows:
    if value is None:
        return DocumentWindows()
    if not isinstance(value, dict) or set(value) - {"tokens", "overlapTokens"}:
        raise ConfigError('documentWindows is not of the form {"tokens": ..., "overlapTokens": ...}')
    tokens, overlap = _count("tokens", value.get("tokens"), 8), _count("overlapTokens", value.get("overlapTokens"), 0)
    if tokens is not None and overlap is not None and overlap >= tokens:
        raise ConfigError(f"documentWindows.overlapTokens {overlap} is not below its tokens, {tokens}")
    return DocumentWindows(tokens, overlap)


def _count(field: str, value: Any, least: int) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= least):
        return value
    raise ConfigError(f"documentWindows.{field} {value!r} is not a whole number of at least {least}")
