"""A model inside a Python package, as a source of files: where it is installed, else from its wheel.

Never knows what a model is.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from trellis_operator.source import PackageSource
from trellis_operator.sources.checksum import Checksum, Kind, checksum_of
from trellis_operator.sources.download import Download
from trellis_operator.sources.failure import FetchError, Reason, disk_errors
from trellis_operator.sources.index import IndexedWheel, find_wheel, index_url
from trellis_operator.sources.listing import FileSource, Listing, RemoteFile, Stream
from trellis_operator.sources.patience import Deadline, Patience, Retries
from trellis_operator.sources.pip import download_wheel, pip_settings
from trellis_operator.sources.progress import Progress
from trellis_operator.sources.web import Web
from trellis_operator.sources.wheel import Wheel

_BLOCK_BYTES = 1 << 20
_PIP_MAY = (Reason.UNAUTHORIZED, Reason.FORBIDDEN, Reason.NOT_FOUND, Reason.REFUSED)
"""What an index answers to us, and perhaps not to pip, which knows keyrings."""


def installed_folder(source: PackageSource) -> Path | None:
    """The model's folder among this interpreter's own packages, where that exact version is installed."""
    try:
        distribution = metadata.distribution(source.name)
    except metadata.PackageNotFoundError:
        return None
    folder = Path(str(distribution.locate_file(source.path)))
    whole = distribution.version == source.version and (folder / "config.json").is_file()
    return folder if whole else None


class Package:
    """The model's folder of a package, wherever that is.

    Args:
        source: the package, its exact version, and the model's path in it.
        scratch: a wheel is downloaded to here, and stays.
        patience: how long nothing may arrive.
        deadline: the end of the fetch.
        progress: hears of each byte.
        web: the client.
    """

    def __init__(
        self, source: PackageSource, scratch: Path, patience: Patience, deadline: Deadline, progress: Progress, web: Web
    ) -> None:
        self._source = source
        self._scratch = scratch
        self._patience = patience
        self._deadline = deadline
        self._progress = progress
        self._web = web
        self._files: FileSource | None = None

    def listing(self, wanted: Callable[[str], bool]) -> Listing:
        """Find the package, or download its wheel, and list the model's folder in it."""
        self._files = self._found()
        return self._files.listing(wanted)

    def open(self, file: RemoteFile, offset: int) -> AbstractContextManager[Stream]:
        """Read a file of the listing."""
        if self._files is None:
            raise ValueError("nothing was listed")
        return self._files.open(file, offset)

    def _found(self) -> FileSource:
        folder = installed_folder(self._source)
        if folder is not None:
            self._progress.say(f"package {self._source.name} {self._source.version} is installed here")
            return Folder(folder)
        wheels = sorted(self._scratch.glob("*.whl"))
        return Wheel(wheels[0] if wheels else self._from_index() or self._by_pip(), self._source.path)

    def _from_index(self) -> Path | None:
        """The wheel from the user's index, from where an earlier run stopped; None where pip has to be asked."""
        try:
            index = index_url(pip_settings())
            wheel = find_wheel(self._source, index, self._web) if index else None
        except FetchError as error:
            self._deadline.check()
            self._progress.say(f"{error}; asking pip")
            return None
        return self._continued(wheel) if wheel else None

    def _continued(self, wheel: IndexedWheel) -> Path | None:
        # Tried once: whoever lists us tries again, and counts what has arrived.
        once = Retries(replace(self._patience, attempts=1), self._deadline, lambda _error, _pause_s: None)
        try:
            listing = wheel.listing(lambda _: True)
            Download(wheel, self._scratch, once, self._deadline, self._progress).bring(listing)
        except FetchError as error:
            if error.reason not in _PIP_MAY:
                raise
            self._progress.say(f"{error}; asking pip")
            return None
        return self._scratch / wheel.name if listing.files else None

    def _by_pip(self) -> Path:
        requirement = f"{self._source.name}=={self._source.version}"
        stall_s, say = self._patience.stall_s, self._progress.say
        return download_wheel(requirement, self._scratch, stall_s, self._deadline, say)


class Folder:
    """A folder on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def listing(self, wanted: Callable[[str], bool]) -> Listing:
        """List the folder. Checksums are taken now, and tell later whether a copy is like its original."""
        with disk_errors(self._folder):
            files = {
                path.relative_to(self._folder).as_posix(): path for path in self._folder.rglob("*") if path.is_file()
            }
        return Listing(
            revision="",
            files=tuple(_file(path, file) for path, file in files.items() if wanted(path)),
            left_out=tuple(path for path in files if not wanted(path)),
        )

    @contextmanager
    def open(self, file: RemoteFile, offset: int) -> Iterator[Stream]:
        """Read a file from a byte on."""
        try:
            opened = (self._folder / file.path).open("rb")
        except OSError as error:
            raise FetchError(Reason.CHANGED, f"{self._folder / file.path} cannot be read any more") from error
        with opened:
            opened.seek(offset)
            yield Stream(offset, iter(lambda: opened.read(_BLOCK_BYTES), b""))


def _file(path: str, file: Path) -> RemoteFile:
    value = checksum_of(file, Checksum(Kind.CRC32, ""))
    return RemoteFile(path, file.stat().st_size, Checksum(Kind.CRC32, value))
