"""What lies in a model's folder, in names that two programs can compare.

A digest says which model was asked for. Where its source can change (a branch, an object that is overwritten, a tag of
an image), two pods that ask for the same may have been given different files: these names differ then. Never knows a
program.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RECORD = ".trellis-source"
"""What a fetch has left in the folder: the source's revision, and the checksums that it states."""

_TEXTS = (".json", ".txt", ".jinja", ".metadata")
_SAMPLE_BYTES = 4096
"""Of each tensor. What trains a model further changes all of them, or whole ones."""
_LENGTH_BYTES = 8
_HEADER_LIMIT_BYTES = 100 * 2**20
_RECORD_LIMIT_BYTES = 16 * 2**20
_BLOCK_BYTES = 2**20
"""Read at once: a volume may hold a file of any size under a name that ends in .json."""
_DIGITS = 16
"""Against accidents; what a fetch brings is checked in full."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Of one folder.

    Attributes:
        whole: a name for all that a model is read from; empty where nobody has looked.
        texts: a name for the same without the weights: what a gateway reads.
        revision: that the source had for it, e.g. a commit; empty where none is known.
    """

    whole: str = ""
    texts: str = ""
    revision: str = ""


def read_contents(folder: Path) -> Contents:
    """Name what lies in a folder.

    Weights are named by their sizes, their headers and the beginning of each tensor, and by the checksums that their
    source stated, where they were fetched: reading all of them would double the start.

    Raises:
        OSError: a file cannot be read.
    """
    record, texts = _record(folder), texts_in(folder)
    whole = hashlib.sha256(texts.encode())
    for path in _files(folder, (".safetensors",)):
        name = path.relative_to(folder).as_posix()
        stated = record.get("files", {}).get(name, {}).get("checksum", "")
        whole.update(f"\n{name} {path.stat().st_size} {stated}\n".encode())
        for sample in _samples(path):
            whole.update(sample)
    return Contents(whole.hexdigest()[:_DIGITS], texts, str(record.get("revision", "")))


def texts_in(folder: Path) -> str:
    """Name the files of a folder that a gateway reads.

    Raises:
        OSError: one cannot be read.
    """
    digest = hashlib.sha256()
    for path in _files(folder, _TEXTS):
        with path.open("rb") as file:
            length = os.fstat(file.fileno()).st_size
            digest.update(f"\n{path.relative_to(folder).as_posix()} {length}\n".encode())
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    return digest.hexdigest()[:_DIGITS]


def full_digest(digest: str, contents: str) -> str:
    """A model's digest together with what was found of it; the digest alone where that is not known."""
    return f"{digest}+{contents}" if contents else digest


def _files(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    """The model's own and those of its modules, in one order everywhere."""
    found = [path for depth in ("*", "*/*") for path in folder.glob(depth) if path.suffix in suffixes]
    seen = [path for path in found if path.is_file() and not _is_hidden(path.relative_to(folder))]
    return sorted(seen, key=lambda path: path.relative_to(folder).as_posix())


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _record(folder: Path) -> dict[str, Any]:
    """What a fetch says of itself; empty where there was none, or somebody else wrote it."""
    try:
        with (folder / RECORD).open("rb") as file:
            said = json.loads(file.read(_RECORD_LIMIT_BYTES))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}


def _samples(path: Path) -> Iterator[bytes]:
    """The header of a safetensors file, and the beginning of each tensor."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(_LENGTH_BYTES), "little")
        header = file.read(min(length, _HEADER_LIMIT_BYTES))
        yield header
        for begin, end in sorted(_offsets(header)):
            file.seek(_LENGTH_BYTES + length + begin)
            yield file.read(min(_SAMPLE_BYTES, end - begin))


def _offsets(header: bytes) -> Iterator[tuple[int, int]]:
    """Where each tensor lies; none of a file that is no safetensors, which no engine serves."""
    try:
        entries = json.loads(header).items()
    except (ValueError, AttributeError):
        return
    for name, entry in entries:
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            yield begin, end
