"""Unpacks a wheel: a zip from a stranger, so every name and size is checked before a byte is written.

Never knows where the wheel came from.
"""

import shutil
import stat
import zipfile
from pathlib import Path, PurePosixPath

from trellis_operator.errors import SourceError

MAX_FILES = 20_000
MAX_BYTES = 64 * 2**30


def unpack_wheel(wheel: Path, folder: Path) -> int:
    """Unpack all files of `wheel` below `folder`, which is made.

    Returns:
        Bytes written.

    Raises:
        SourceError: the file is not a zip, is damaged, is beyond the size limits, or has a name that leads outside.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            _check(members, wheel.name)
            for member in members:
                _write(archive, member, folder / member.filename)
            return sum(member.file_size for member in members)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise SourceError(f"{wheel.name} is not a sound wheel: {error}") from error


def _check(members: list[zipfile.ZipInfo], name: str) -> None:
    if len(members) > MAX_FILES:
        raise SourceError(f"{name} holds {len(members)} files: more than {MAX_FILES} are not unpacked")
    total = sum(member.file_size for member in members)
    if total > MAX_BYTES:
        raise SourceError(f"{name} unpacks to {total} bytes: more than {MAX_BYTES} are not unpacked")
    for member in members:
        if not _stays_inside(member):
            raise SourceError(f"{name} holds the file {member.filename!r}, which leads outside of its folder")


def _stays_inside(member: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(member.filename)
    link = stat.S_ISLNK(member.external_attr >> 16)
    plain = "\\" not in member.filename and ":" not in member.filename and "\0" not in member.filename
    return plain and not link and not path.is_absolute() and ".." not in path.parts


def _write(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
    """Copy one member out. zipfile stops at the declared size and checks the CRC, so `_check` was not deceived."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, target.open("xb") as sink:
        shutil.copyfileobj(source, sink, 1 << 20)
