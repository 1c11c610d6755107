"""Digests: one name for everything that changes vectors, and one for the part of it that engines see. Pure."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FOR_GATEWAYS = frozenset({"documentWindows", "lateChunking", "truncation", "prompts", "defaultPrompt"})
"""Fields of `spec.embedding` that say which ids a text becomes: engines are given ids, and leave them unread."""


def engine_part(embedding: Mapping[str, Any]) -> dict[str, Any]:
    """`spec.embedding` without what engines do not read."""
    return {name: value for name, value in embedding.items() if name not in _FOR_GATEWAYS}


def engine_digest(spec: Mapping[str, Any]) -> str:
    """As `model_digest`, of what makes rows of ids: what gateways and their engines must agree on."""
    return model_digest({**spec, "embedding": engine_part(spec.get("embedding", {}))})


def model_digest(spec: Mapping[str, Any]) -> str:
    """Digest `spec.model` and `spec.embedding`, whatever the order of their fields.

    Args:
        spec: a validated spec with its defaults.

    Returns:
        `sha256:` and 64 hexadecimal digits.
    """
    said = {"model": spec["model"], "embedding": spec.get("embedding", {})}
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def with_folder(spec: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The spec with a folder on this disk in place of its source, so that the digest tells the two apart."""
    return {**spec, "model": {**spec["model"], "source": {"folder": str(folder)}}}
