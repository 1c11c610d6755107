"""`SliceApi`: the two questions that an API server is asked about EndpointSlices. Knows no set and no plan."""

import asyncio
import re
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from ivy.cluster.backends import Slice
from ivy.cluster.lines import lines
from ivy.cluster.wire import read_page
from ivy.config import ApiServer, ServiceName
from ivy.errors import SyncFailed

PAGE = 500
MAX_PAGE_BYTES = 64 * 1024 * 1024
MAX_PAGES = 100
CONNECT_S = 10.0

_TOKEN = re.compile(rb"[!-~]{1,65536}")


@dataclass(frozen=True, slots=True)
class Listed:
    """All slices of a Service at one moment."""

    slices: list[Slice]
    version: str
    """From which on a watch tells what changed."""


class SliceApi:
    """Asks for the slices of one Service."""

    def __init__(self, server: ApiServer, service: ServiceName) -> None:
        self._server = server
        self._url = f"{server.url}/apis/discovery.k8s.io/v1/namespaces/{service.namespace}/endpointslices"
        self._selector = {"labelSelector": f"kubernetes.io/service-name={service.name}"}

    @asynccontextmanager
    async def connected(self) -> AsyncIterator["Connected"]:
        """Connections for one list and one watch. Made anew each time, so that replaced certificates are seen.

        Raises:
            SyncFailed: the certificates cannot be read, or whatever the block asks for failed.
        """
        timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_S)
        try:
            connector = aiohttp.TCPConnector(ssl=self._trust())
            async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
                yield Connected(session, self._url, self._selector, self._server)
        except (aiohttp.ClientError, OSError) as error:
            raise SyncFailed("unreachable", f"{self._server.url}: {_words(error)}") from None

    def _trust(self) -> ssl.SSLContext | bool:
        return ssl.create_default_context(cafile=self._server.ca_file) if self._server.ca_file is not None else True


class Connected:
    """An API server that can be asked."""

    def __init__(self, session: aiohttp.ClientSession, url: str, selector: dict[str, str], server: ApiServer) -> None:
        self._session = session
        self._url = url
        self._selector = selector
        self._server = server

    async def list(self, deadline_s: float) -> Listed:
        """All slices, as they are now: never out of a cache that may be older than what was seen before.

        Raises:
            SyncFailed: there was no such answer within `deadline_s`.
            OSError, aiohttp.ClientError: there was no answer.
        """
        try:
            async with asyncio.timeout(deadline_s):
                return await self._all_pages()
        except TimeoutError:
            raise SyncFailed("slow", f"the list took more than {deadline_s:g} s") from None

    async def watch(self, version: str, seconds: float) -> AsyncGenerator[bytes, None]:
        """The lines of a watch, until the server ends it, which it is asked to do after `seconds`.

        Raises:
            SyncFailed: the server refuses.
            OSError, aiohttp.ClientError: the connection broke.
        """
        asked = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"}
        async with self._ask({**asked, "timeoutSeconds": str(max(int(seconds), 1))}) as response:
            async for line in lines(response.content.iter_any()):
                yield line

    async def _all_pages(self) -> Listed:
        slices: list[Slice] = []
        rest = ""
        for _ in range(MAX_PAGES):
            page = read_page(await self._page(rest))
            slices += page.slices
            rest = page.rest
            if not rest:
                return Listed(slices, page.version)
        raise SyncFailed("garbage", f"the list has more than {MAX_PAGES} pages")

    async def _page(self, rest: str) -> bytes:
        data = bytearray()
        async with self._ask({"limit": str(PAGE), **({"continue": rest} if rest else {})}) as response:
            async for piece in response.content.iter_any():
                data += piece
                if len(data) > MAX_PAGE_BYTES:
                    raise SyncFailed("garbage", f"a page of the list is longer than {MAX_PAGE_BYTES} bytes")
        return bytes(data)

    @asynccontextmanager
    async def _ask(self, parameters: dict[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
        # A redirect would take the token to somebody else.
        asked = self._session.get(
            self._url, params=self._selector | parameters, headers=self._headers(), allow_redirects=False
        )
        async with asked as response:
            if response.status != 200:
                raise _refused(response.status, str(response.url.origin()))
            yield response

    def _headers(self) -> dict[str, str]:
        headers = {"accept": "application/json", "user-agent": "trellis-ivy"}
        if self._server.token_file is not None:
            headers["authorization"] = f"Bearer {_token(self._server.token_file)}"
        return headers


def _token(path: Path) -> str:
    data = path.read_bytes().strip()
    if not _TOKEN.fullmatch(data):
        raise SyncFailed("refused", f"{path} has no token in it")
    return data.decode()


def _words(error: Exception) -> str:
    """What may be said of an error: those of a connection speak of addresses, others may quote what was sent."""
    return str(error) if isinstance(error, OSError) and str(error) else type(error).__name__


def _refused(status: int, origin: str) -> SyncFailed:
    if status == 410:
        return SyncFailed("expired", "the API server does not know the version any more")
    if status in (401, 403):
        return SyncFailed(
            "refused",
            f"{origin} answers {status}: the ServiceAccount needs get, list and watch of endpointslices "
            "(discovery.k8s.io) in the Service's namespace",
        )
    return SyncFailed("status", f"{origin} answers {status}")
