"""The other folders on a volume that one model has for itself: what of them is used again, and when they go.

What has the same checksum is linked and not fetched again. What nobody reads any more is removed, also what downloads
that were given up have left. Each folder has the lock of whoever makes it: one that is taken is left alone. Never knows
a source.
"""

import fcntl
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trellis_operator.sources.download import partial_of
from trellis_operator.sources.listing import Listing, RemoteFile
from trellis_operator.sources.staging import NO_LOCKS, RECORD

_LEFT = re.compile(r"\.(?P<name>.+)\.(incoming-.+|scratch.*|removed)")


@dataclass(frozen=True)
class Neighbours:
    """What lies beside a folder that is made.

    Attributes:
        target: that folder.
        keep: names of those that stay, since somebody reads them.
        say: gets a line for what is done.
    """

    target: Path
    keep: frozenset[str]
    say: Callable[[str], None]

    def lend(self, incoming: Path, fingerprint: str, listing: Listing) -> None:
        """Bring what is here already into the folder that a listing is gathered in, where all of it is checked."""
        if not any(incoming.iterdir()):
            self._hand_over(incoming, fingerprint)
        lent = sum(file.size for file in listing.files if self._link(file, incoming))
        if lent:
            self.say(f"{lent} bytes are the same as in another folder of the volume, and are not fetched again")

    def clear(self) -> None:
        """Remove what is neither made nor kept; what cannot be removed stays, and is told."""
        for name in sorted(self._names() - self.keep - {self.target.name}):
            try:
                with self._locked(name) as free:
                    if free:
                        self._remove(name)
            except OSError as error:
                self.say(f"{self._parent / name} is of no use any more, and cannot be removed: {error.strerror}")

    @property
    def _parent(self) -> Path:
        return self.target.parent

    def _names(self) -> set[str]:
        """Of all folders that were made here, or begun."""
        found = set()
        for path in self._parent.iterdir():
            left = _LEFT.fullmatch(path.name)
            if left:
                found.add(left["name"])
            elif (path / RECORD).is_file():
                found.add(path.name)
        return found

    def _hand_over(self, incoming: Path, fingerprint: str) -> None:
        """Go on with what was gathered of the same listing for a folder that nobody wants any more."""
        for name in sorted(self._names() - {self.target.name}):
            theirs = self._parent / f".{name}.incoming-{fingerprint}"
            if not theirs.is_dir():
                continue
            with self._locked(name) as free:
                if free:
                    incoming.rmdir()
                    theirs.rename(incoming)
                    return

    def _link(self, file: RemoteFile, incoming: Path) -> bool:
        """Whether a file of this checksum was found; it counts as received, and not as checked."""
        mine, partial = incoming / file.path, partial_of(incoming / file.path)
        if file.checksum is None or mine.exists() or partial.exists():
            return False
        for name in sorted(self._names()):
            theirs = self._parent / name
            if _stated(theirs).get(file.path) == {"size": file.size, "checksum": str(file.checksum)}:
                partial.parent.mkdir(parents=True, exist_ok=True)
                if _linked(theirs / file.path, partial, file.size):
                    return True
        return False

    def _remove(self, name: str) -> None:
        """A folder first loses its name, so that it is never there with a part of its files."""
        removed = self._parent / f".{name}.removed"
        if (self._parent / name / RECORD).is_file():
            if removed.exists():
                shutil.rmtree(removed)
            (self._parent / name).rename(removed)
            self.say(f"{self._parent / name}, which nobody reads any more, is removed")
        for path in self._parent.iterdir():
            left = _LEFT.fullmatch(path.name)
            if left and left["name"] == name:
                shutil.rmtree(path)

    @contextmanager
    def _locked(self, name: str) -> Iterator[bool]:
        """Whether nobody makes that folder now, nor begins to while this lasts; without locks, nobody is known to."""
        descriptor = os.open(self._parent / f".{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            yield _lock(descriptor)
        finally:
            os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    return True


def _linked(theirs: Path, partial: Path, size: int) -> bool:
    """One that is shorter than stated is not: what is missing would be written into it, where others read it."""
    try:
        if theirs.stat().st_size != size:
            return False
        os.link(theirs, partial)
    except OSError:
        return False  # gone by now, or a file system without links: then it is fetched
    return True


def _stated(folder: Path) -> dict[str, Any]:
    """Sizes and checksums of the files in a published folder, as its record has them."""
    try:
        files = json.loads((folder / RECORD).read_bytes())["files"]
    except (OSError, ValueError, TypeError, KeyError):
        return {}
    return files if isinstance(files, dict) else {}
