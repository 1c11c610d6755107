"""The model digest: one name for everything that changes vectors. Pure."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


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
