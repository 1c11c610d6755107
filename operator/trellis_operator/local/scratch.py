"""`scratch`: a folder for one run of `local`, and the end of those whose runs were killed. Knows no program.

Who runs holds a lock on a file in the folder. The system lets go of it however a process ends, so that a folder whose
lock is free has no owner any more; numbers of processes would come back as those of others.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PREFIX = "trellis-local-"
_LOCK = "owner.lock"


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder of this process alone, which goes with it; those that killed processes left go now."""
    remove_left()
    with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        fresh = folder / f"{_LOCK}.new"
        with fresh.open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Under its name it is locked from the first moment on.
            fresh.rename(folder / _LOCK)
            yield folder


def remove_left() -> None:
    """Remove folders of this user whose owner is gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        if _is_left(folder):
            # It follows no links, so nobody can have another folder removed by naming it here.
            shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path) -> bool:
    try:
        if folder.stat().st_uid != os.getuid():
            return False
        with (folder / _LOCK).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # It is held, or not there yet, or gone by now.
        return False
    return True
