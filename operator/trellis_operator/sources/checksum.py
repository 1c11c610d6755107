"""Checksums of files, as the servers that models come from state them. Never knows a server."""

import hashlib
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_BLOCK_BYTES = 1 << 20


class Kind(StrEnum):
    """How a checksum is made."""

    SHA256 = "sha256"
    MD5 = "md5"
    CRC32 = "crc32"
    GIT_BLOB = "git-blob"
    """SHA-1 of the size and the bytes: what git calls a file, and the hub with it."""
    MD5_OF_PARTS = "md5-of-parts"
    """MD5 of the MD5s of equal parts: what S3 calls an object that was uploaded in parts."""


@dataclass(frozen=True)
class Checksum:
    """What the bytes of a file must add up to.

    Attributes:
        kind: how it is made.
        value: in lower hexadecimal digits.
        part_bytes: size of all parts but the last, for `MD5_OF_PARTS`.
    """

    kind: Kind
    value: str
    part_bytes: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"


def checksum_of(path: Path, like: Checksum, on_block: Callable[[], None] = lambda: None) -> str:
    """The checksum of a file's bytes on disk, of the kind of `like`.

    Args:
        path: the file.
        like: says the kind.
        on_block: called for each mebibyte; it may raise to give up.
    """
    match like.kind:
        case Kind.CRC32:
            value = 0
            for block in _blocks(path, _BLOCK_BYTES, on_block):
                value = zlib.crc32(block, value)
            return f"{value:08x}"
        case Kind.MD5_OF_PARTS:
            return _md5_of_parts(path, like.part_bytes, on_block)
        case _:
            digest = _digest(like.kind, path.stat().st_size)
            for block in _blocks(path, _BLOCK_BYTES, on_block):
                digest.update(block)
            return digest.hexdigest()


def _digest(kind: Kind, size: int) -> "hashlib._Hash":
    # SHA-1 and MD5 guard against accidents here, as the servers that state nothing stronger mean them to.
    if kind is Kind.GIT_BLOB:
        return hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    return hashlib.new(kind.value, usedforsecurity=False)


def _md5_of_parts(path: Path, part_bytes: int, on_block: Callable[[], None]) -> str:
    parts = []
    left, digest = part_bytes, hashlib.md5(usedforsecurity=False)
    for block in _blocks(path, _BLOCK_BYTES, on_block):
        while len(block) >= left:
            digest.update(block[:left])
            parts.append(digest.digest())
            block = block[left:]
            left, digest = part_bytes, hashlib.md5(usedforsecurity=False)
        digest.update(block)
        left -= len(block)
    if left < part_bytes:
        parts.append(digest.digest())
    return f"{hashlib.md5(b''.join(parts), usedforsecurity=False).hexdigest()}-{len(parts)}"


def _blocks(path: Path, size: int, on_block: Callable[[], None]) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(size):
            on_block()
            yield block
