"""What a source holds: names, sizes and checksums. Never knows how it is asked."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from trellis_operator.sources.checksum import Checksum


@dataclass(frozen=True)
class RemoteFile:
    """One file of a source.

    Attributes:
        path: relative to the model's folder, with forward slashes.
        size: bytes.
        checksum: None when the source states none: then the size alone is checked.
        version: what the server calls this content, when the same address may hold another one later; else empty.
    """

    path: str
    size: int
    checksum: Checksum | None
    version: str = ""


@dataclass(frozen=True)
class Listing:
    """The files of one revision.

    Attributes:
        revision: that was found, e.g. a commit; empty when the source has none.
        files: those that were wanted.
        left_out: paths of those that were not.
    """

    revision: str
    files: tuple[RemoteFile, ...]
    left_out: tuple[str, ...] = ()

    @property
    def total_bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def fingerprint(self) -> str:
        """Sixteen digits that differ when any file differs."""
        said = [f"{file.path} {file.size} {file.checksum} {file.version}" for file in self.files]
        return hashlib.sha256("\n".join([self.revision, *sorted(said)]).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Stream:
    """Bytes of a file on their way.

    Attributes:
        start: the first byte's place in the file; 0 when the server began anew, whatever it was asked.
        blocks: the bytes from there, in pieces as they arrive; the last piece may be missing.
    """

    start: int
    blocks: Iterator[bytes]


class FileSource(Protocol):
    """Where files are listed and read. All methods raise `FetchError`."""

    def listing(self, wanted: Callable[[str], bool]) -> Listing:
        """List all files, with sizes and checksums of those whose path is wanted."""

    def open(self, file: RemoteFile, offset: int) -> AbstractContextManager[Stream]:
        """Read a file of the listing from a byte on."""
