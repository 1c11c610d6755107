"""Reads over HTTP with a limit on every wait and every size.

Never knows which server it asks; see `refusal` for what goes wrong.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

import requests
import urllib3

from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.listing import Stream
from trellis_operator.sources.patience import Deadline
from trellis_operator.sources.refusal import Refusal, Refused, failure_of, place

Auth: TypeAlias = Callable[[requests.PreparedRequest], requests.PreparedRequest]
"""Adds to a request what proves who asks."""

_CONNECT_S = 15.0
_BLOCK_BYTES = 1 << 20
_MAX_REDIRECTS = 5
_MAX_ERROR_BYTES = 1 << 16


class Web:
    """A client. Proxies and certificates come from the environment, as `requests` reads it."""

    def __init__(self, stall_s: float, deadline: Deadline) -> None:
        self._stall_s = stall_s
        self._deadline = deadline
        self._session = requests.Session()
        self._session.max_redirects = _MAX_REDIRECTS
        # Sizes, ranges and checksums are those of the bytes as they are stored.
        self._session.headers.update({"Accept-Encoding": "identity", "User-Agent": "trellis-fetch"})

    def read(
        self, url: str, auth: Auth | None, refused: Refused, limit: int, redirects: bool = True
    ) -> tuple[bytes, Mapping[str, str]]:
        """The whole body and the headers of an answer.

        Raises:
            FetchError: it was refused, did not come, or has more than `limit` bytes.
        """
        with self._answer("GET", url, auth, refused, redirects=redirects) as answer:
            body = b""
            for block in self._blocks(answer, url):
                body += block
                if len(body) > limit:
                    raise FetchError(Reason.TOO_LARGE, f"{place(url)} answers with more than {limit} bytes")
            return body, answer.headers

    def read_json(self, url: str, auth: Auth | None, refused: Refused, limit: int) -> Any:
        """The body of an answer as JSON; raises as `read` does."""
        body, _ = self.read(url, auth, refused, limit)
        try:
            return json.loads(body)
        except ValueError as error:
            raise FetchError(Reason.REFUSED, f"{place(url)} does not answer with JSON") from error

    def headers(self, url: str, auth: Auth | None, refused: Refused, extra: Mapping[str, str]) -> Mapping[str, str]:
        """The headers of an answer without its body; raises as `read` does."""
        with self._answer("HEAD", url, auth, refused, extra, redirects=False) as answer:
            return answer.headers

    @contextmanager
    def stream(
        self,
        url: str,
        auth: Auth | None,
        refused: Refused,
        offset: int,
        version: str = "",
        redirects: bool = True,
    ) -> Iterator[Stream]:
        """The body from a byte on, as it arrives; only of that version, where one is given."""
        extra = {"Range": f"bytes={offset}-"} if offset else {}
        extra |= {"If-Match": version} if version else {}
        with self._answer("GET", url, auth, refused, extra, redirects) as answer:
            yield Stream(_start(answer, url), self._blocks(answer, url))

    @contextmanager
    def _answer(
        self,
        method: str,
        url: str,
        auth: Auth | None,
        refused: Refused,
        extra: Mapping[str, str] | None = None,
        redirects: bool = True,
    ) -> Iterator[requests.Response]:
        self._deadline.check()
        stall_s = min(self._stall_s, self._deadline.left_s)
        with self._told(url):
            answer = self._session.request(
                method,
                url,
                headers=extra,
                auth=auth,
                stream=True,
                timeout=(min(_CONNECT_S, stall_s), stall_s),
                allow_redirects=redirects,
            )
        with answer:
            if answer.status_code not in (200, 206):
                raise refused(self._refusal(answer, url))
            yield answer

    def _refusal(self, answer: requests.Response, url: str) -> Refusal:
        with self._told(url):
            body = answer.raw.read(_MAX_ERROR_BYTES)
        return Refusal(answer.status_code, answer.headers, body)

    def _blocks(self, answer: requests.Response, url: str) -> Iterator[bytes]:
        while True:
            self._deadline.check()
            with self._told(url):
                block: bytes = answer.raw.read1(_BLOCK_BYTES)
            if not block:
                return
            yield block

    @contextmanager
    def _told(self, url: str) -> Iterator[None]:
        """Map what the libraries raise; a wait that the deadline cut short is the deadline's."""
        try:
            yield
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            self._deadline.check()
            raise failure_of(error, place(url), self._stall_s) from error


def _start(answer: requests.Response, url: str) -> int:
    if answer.status_code == 200:
        return 0
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range", ""))
    if found is None:
        raise FetchError(Reason.SERVER_ERROR, f"{place(url)} answers 206 without saying which bytes it sends")
    return int(found[1])
