"""`EmbeddingOverrides`: what the manifest's `spec.embedding` asks of the engine, read from a JSON file.

The manifest is validated where it is applied; here its fields are checked again because a file can be written by hand.
Knows no argument parser and no model.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.pooling_words import of_manifest, to_manifest
from tulip_rose.tulip.errors import ConfigError

MAX_FILE_BYTES = 1024 * 1024

_FOR_THE_GATEWAY = frozenset({"documentWindows", "lateChunking", "truncation", "prompts", "defaultPrompt"})
_KNOWN = frozenset({"pooling", "normalize", "dimensions", "maxInputTokens", "scoring"}) | _FOR_THE_GATEWAY


@dataclass(frozen=True, slots=True)
class EmbeddingOverrides:
    """What stands above the model's own files; None leaves the word to them."""

    pooling: str | None = None
    """One word, or several joined with `+`: see `of_manifest`."""
    normalize: bool | None = None
    """Whether vectors have unit norm unless a caller asks otherwise."""
    allowed_dimensions: tuple[int, ...] | None = None
    """Sizes that a vector may be cut to, besides the native one."""
    max_input_tokens: int | None = None
    """Longest sequence, special tokens included."""
    scores: bool = False
    """Whether `scoring` is there, whose fields are the gateway's: the model is to score."""


def read_overrides(path: Path) -> EmbeddingOverrides:
    """Read the file of `--embedding`.

    Raises:
        ConfigError: it cannot be read, is no JSON object, or has a field that is unknown or has a wrong value.
    """
    try:
        data = path.read_bytes()
        if len(data) > MAX_FILE_BYTES:
            raise ConfigError(f"{path}: {len(data)} bytes, at most {MAX_FILE_BYTES} are read")
        spec = json.loads(data)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON: {error}") from None
    try:
        return overrides_of(spec)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def overrides_of(spec: Any) -> EmbeddingOverrides:
    """Check the fields of `spec.embedding`.

    Raises:
        ConfigError: names the field.
    """
    if not isinstance(spec, dict):
        raise ConfigError("not a JSON object")
    unknown = sorted(set(spec) - _KNOWN)
    if unknown:
        raise ConfigError(f"unknown field {unknown[0]!r}: known are {', '.join(sorted(_KNOWN))}")
    return EmbeddingOverrides(
        pooling=_pooling(spec.get("pooling")),
        normalize=_flag(spec.get("normalize")),
        allowed_dimensions=_dimensions(spec.get("dimensions")),
        max_input_tokens=_optional_count("maxInputTokens", spec.get("maxInputTokens")),
        scores=spec.get("scoring") is not None,
    )


def _pooling(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise ConfigError(f"pooling {value!r} is not a word")
    try:
        return to_manifest(of_manifest(value))
    except LoadError as error:
        raise ConfigError(str(error)) from None


def _flag(value: Any) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    raise ConfigError(f"normalize {value!r} is not true or false")


def _dimensions(value: Any) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, dict) or set(value) - {"allowed"}:
        raise ConfigError('dimensions is not of the form {"allowed": [...]}')
    allowed = value.get("allowed")
    if allowed is None:
        return None
    if not isinstance(allowed, list):
        raise ConfigError("dimensions.allowed is not a list")
    return tuple(_count(f"dimensions.allowed[{index}]", size) for index, size in enumerate(allowed))


def _optional_count(name: str, value: Any) -> int | None:
    return None if value is None else _count(name, value)


def _count(name: str, value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise ConfigError(f"{name} {value!r} is not a whole number of at least 1")
