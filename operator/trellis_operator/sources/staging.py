"""A folder that appears whole or not at all: files gather beside it, and one rename shows them.

Beside TARGET lie, while it is made, `.TARGET.incoming-FINGERPRINT` with the files, and `.TARGET.lock`, which a process
holds while it writes there; the system lets go of it when the process ends, however it ends. Where a file system has
no locks, each process gathers in a folder of its own: then nothing is kept between runs, and still nothing is harmed.
Never knows a source.
"""

import errno
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trellis_operator.sources.failure import FetchError, Reason, disk_errors
from trellis_operator.sources.patience import Deadline
from trellis_operator.sources.progress import size

RECORD = ".trellis-source"
"""The file in a published folder that says what it holds."""

NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)
"""What a file system without locks answers."""
_LOCK_EVERY_S = 0.5
_SPARE_BYTES = 16 << 20
"""Of a disk: what a file system takes for itself beside the bytes of files."""


class Staging:
    """The place where one folder is made."""

    def __init__(self, target: Path) -> None:
        self.target = target.absolute()
        self._own = ""

    def record(self) -> dict[str, Any] | None:
        """What the published folder says of itself; None when there is none.

        Raises:
            FetchError: OCCUPIED by something that is not ours.
        """
        try:
            said = json.loads((self.target / RECORD).read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            if self.target.is_dir() and not any(self.target.iterdir()):
                return None
            if self.target.exists():
                raise FetchError(
                    Reason.OCCUPIED, f"{self.target} is there already, and was not made by a fetch"
                ) from None
            return None
        except (OSError, ValueError) as error:
            raise FetchError(Reason.OCCUPIED, f"{self.target / RECORD} cannot be read") from error
        return said if isinstance(said, dict) else {}

    @contextmanager
    def locked(self, deadline: Deadline, say: Callable[[str], None]) -> Iterator[None]:
        """Be the only one that makes this folder; waits for another one that does."""
        with disk_errors(self.target.parent):
            self.target.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._beside("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            self._lock(descriptor, deadline, say)
            yield
        finally:
            os.close(descriptor)

    def incoming(self, fingerprint: str) -> Path:
        """The folder to gather a listing in, with what an earlier run has left there; those of other listings go."""
        folder = self._beside(f"incoming-{fingerprint}{self._own}")
        with disk_errors(self.target.parent):
            if not self._own:
                self._remove(self._gathered(), but=folder)
            folder.mkdir(exist_ok=True)
        return folder

    def scratch(self) -> Path:
        """A folder for what a source needs on the way, kept between runs until the target is published."""
        folder = self._beside(f"scratch{self._own}")
        with disk_errors(self.target.parent):
            folder.mkdir(exist_ok=True)
        return folder

    def check_room(self, needed: int) -> None:
        """Raise DISK_FULL when the disk has no room for so many bytes more."""
        with disk_errors(self.target.parent):
            free = shutil.disk_usage(self.target.parent).free
        if needed + _SPARE_BYTES > free:
            raise FetchError(
                Reason.DISK_FULL,
                f"{size(needed)} more are needed, and the disk of {self.target.parent} has {size(free)} free: "
                "make its volume larger",
            )

    def publish(self, incoming: Path, record: dict[str, Any]) -> None:
        """Show the gathered files as the target, at once, and clear away what was needed for it."""
        with disk_errors(self.target.parent):
            (incoming / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
            for folder in (incoming, *(path for path in incoming.iterdir() if path.is_dir())):
                _sync(folder)
            _sync(incoming / RECORD)
            self._rename(incoming)
            _sync(self.target.parent)
            self._remove([self._beside(f"scratch{self._own}"), *([] if self._own else self._gathered())], but=None)

    def _rename(self, incoming: Path) -> None:
        try:
            incoming.rename(self.target)
        except OSError as error:
            if error.errno in (errno.EBUSY, errno.EXDEV):
                raise FetchError(
                    Reason.WRITE_FAILED, f"{self.target} is a mount point: mount the volume at {self.target.parent}"
                ) from error
            if self.record() is None:
                raise
            shutil.rmtree(incoming)  # another process without locks was faster

    def _lock(self, descriptor: int, deadline: Deadline, say: Callable[[str], None]) -> None:
        waited = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if not waited:
                    say(f"another fetch makes {self.target}: waiting for it")
                waited = True
                deadline.check()
                time.sleep(_LOCK_EVERY_S)
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise
                self._own = f"-{os.getpid()}-{os.urandom(4).hex()}"
                return

    def _gathered(self) -> list[Path]:
        prefix = f".{self.target.name}.incoming-"
        return [path for path in self.target.parent.iterdir() if path.name.startswith(prefix)]

    def _beside(self, suffix: str) -> Path:
        return self.target.with_name(f".{self.target.name}.{suffix}")

    @staticmethod
    def _remove(folders: list[Path], but: Path | None) -> None:
        for folder in folders:
            if folder != but and folder.exists():
                shutil.rmtree(folder)


def _sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
