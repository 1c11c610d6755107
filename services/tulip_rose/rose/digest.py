"""The digest of a model folder and of all options that change its vectors. Knows no torch."""

import hashlib
import json
from pathlib import Path
from typing import Any

_HEADER_LENGTH_BYTES = 8
_HEADER_LIMIT_BYTES = 100 * 2**20


def folder_digest(folder: Path, meaning: dict[str, Any]) -> str:
    """Hex sha256 over the folder's JSON files, the header and size of each weights file, and `meaning`.

    Hashing headers in place of gigabytes of weights keeps a start fast; who needs a digest over each byte (a cluster
    that checked its download) passes one in.
    """
    digest = hashlib.sha256(json.dumps(meaning, sort_keys=True).encode())
    for path in sorted(folder.rglob("*.json")):
        digest.update(f"\n{path.relative_to(folder)}\n".encode())
        digest.update(path.read_bytes())
    for path in sorted(folder.rglob("*.safetensors")):
        digest.update(f"\n{path.relative_to(folder)} {path.stat().st_size}\n".encode())
        digest.update(_header(path))
    return digest.hexdigest()


def _header(path: Path) -> bytes:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_HEADER_LENGTH_BYTES), "little")
        return file.read(min(length, _HEADER_LIMIT_BYTES))
