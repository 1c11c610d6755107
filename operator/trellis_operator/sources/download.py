"""Brings the files of a listing into a folder: goes on where it stopped, and believes no byte before it is checked.

A file that is on its way is called `NAME.partial`. It gets its own name once its bytes on disk have the size and the
checksum that were listed, so whatever has a file's own name is whole, also after a process was killed.
Never knows which kind of source it reads, nor who else wants the folder.
"""

import os
from pathlib import Path

from trellis_operator.sources.checksum import checksum_of
from trellis_operator.sources.failure import FetchError, Reason, disk_errors
from trellis_operator.sources.listing import FileSource, Listing, RemoteFile, Stream
from trellis_operator.sources.patience import Deadline, Retries
from trellis_operator.sources.progress import Progress

_PARTIAL = ".partial"


class Download:
    """One listing on its way into one folder, which no one else writes.

    Args:
        source: where the files are read.
        folder: where they go.
        retries: how often a read is tried.
        deadline: the end of it all.
        progress: hears of each byte.
    """

    def __init__(
        self, source: FileSource, folder: Path, retries: Retries, deadline: Deadline, progress: Progress
    ) -> None:
        self._source = source
        self._folder = folder
        self._retries = retries
        self._deadline = deadline
        self._progress = progress

    def bring(self, listing: Listing) -> None:
        """Bring all files, small ones first: what is wrong with a model then shows before its weights are read.

        Raises:
            FetchError: a file cannot be had, or is not what the listing says.
        """
        files = sorted(listing.files, key=lambda file: (file.size, file.path))
        self._progress.begin(listing.total_bytes, self.present(listing))
        for file in files:
            if not self._is_whole(file):
                self._progress.name(file.path)
                self._bring(file)
        self._progress.end()

    def present(self, listing: Listing) -> int:
        """Bytes that are here from an earlier run."""
        return sum(self._present(file) for file in listing.files)

    def _bring(self, file: RemoteFile) -> None:
        """Receive and check one file; a wrong checksum is tried once more from the first byte, as disks may err."""
        for last in (False, True):
            self._retries.call(lambda: self._receive(file), progress=lambda: _size(self._partial(file)))
            if self._is_right(file):
                self._settle(file)
                return
            self._restart(file)
            if not last:
                self._progress.say(f"{file.path} has a wrong checksum; reading it once more")
        raise FetchError(
            Reason.CHECKSUM_MISMATCH, f"{file.path} does not have the checksum {file.checksum} that its source states"
        )

    def _receive(self, file: RemoteFile) -> None:
        """Receive what is missing of one file."""
        partial = self._partial(file)
        if _size(partial) > file.size:
            self._restart(file)
        offset = _size(partial)
        if offset == file.size and partial.exists():
            return
        with disk_errors(self._folder):
            partial.parent.mkdir(parents=True, exist_ok=True)
        with self._source.open(file, offset) as stream:
            self._write(file, stream, offset)
        arrived = _size(partial)
        if arrived < file.size:
            raise FetchError(Reason.UNREACHABLE, f"{file.path}: cut after {arrived} of {file.size} bytes")

    def _write(self, file: RemoteFile, stream: Stream, offset: int) -> None:
        if stream.start == 0 and offset:
            self._restart(file)
        elif stream.start != offset:
            raise FetchError(Reason.SERVER_ERROR, f"{file.path}: asked from byte {offset}, got byte {stream.start}")
        left = file.size - stream.start
        with disk_errors(self._folder):
            sink = self._partial(file).open("ab", buffering=0)
        with sink:
            for block in stream.blocks:
                if len(block) > left:
                    raise FetchError(
                        Reason.SERVER_ERROR, f"{file.path}: more than the {file.size} bytes it should have"
                    )
                with disk_errors(self._folder):
                    _write_all(sink.fileno(), block)
                left -= len(block)
                self._progress.add(len(block))

    def _restart(self, file: RemoteFile) -> None:
        self._progress.take_back(min(file.size, _size(self._partial(file))))
        self._partial(file).unlink(missing_ok=True)

    def _is_right(self, file: RemoteFile) -> bool:
        """Whether the bytes on disk are those that were listed: read again, since some may be from an earlier run."""
        if file.checksum is None:
            self._progress.say(f"{file.path}: the source states no checksum; only its size was checked")
            return True
        with disk_errors(self._folder):
            return checksum_of(self._partial(file), file.checksum, self._deadline.check) == file.checksum.value

    def _settle(self, file: RemoteFile) -> None:
        """Give a checked file its own name; its bytes reach the disk before that does."""
        with disk_errors(self._folder):
            with self._partial(file).open("rb") as written:
                os.fsync(written.fileno())
            self._partial(file).rename(self._folder / file.path)

    def _partial(self, file: RemoteFile) -> Path:
        return partial_of(self._folder / file.path)

    def _is_whole(self, file: RemoteFile) -> bool:
        path = self._folder / file.path
        return path.is_file() and path.stat().st_size == file.size

    def _present(self, file: RemoteFile) -> int:
        return file.size if self._is_whole(file) else min(file.size, _size(self._partial(file)))


def partial_of(path: Path) -> Path:
    """What a file is called until it is checked."""
    return path.with_name(path.name + _PARTIAL)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _write_all(descriptor: int, block: bytes) -> None:
    """Write without a buffer: a buffer would meet a full disk only at its close, and hide how far a file came."""
    view = memoryview(block)
    while view:
        view = view[os.write(descriptor, view) :]
