"""What goes wrong with HTTP, in the words of `failure`.

Never puts a query, a header or a body into a message: there may be secrets in them.
"""

import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TypeAlias
from urllib.parse import urlsplit

import requests
import urllib3

from trellis_operator.sources.failure import FetchError, Reason

_MAX_RETRY_AFTER_S = 3600.0
_CUT = "the connection was cut"
_REASONS = {
    401: Reason.UNAUTHORIZED,
    403: Reason.FORBIDDEN,
    404: Reason.NOT_FOUND,
    408: Reason.SERVER_ERROR,
    410: Reason.NOT_FOUND,
    412: Reason.CHANGED,
    425: Reason.SERVER_ERROR,
    429: Reason.RATE_LIMITED,
}


@dataclass(frozen=True)
class Refusal:
    """An answer that is not a success: its status, its headers, and the beginning of its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def error(self, what: str, hint: str = "", reason: Reason | None = None) -> FetchError:
        """The refusal of `what` as an error, with a hint of what to do; without a reason the status gives it."""
        phrase = HTTPStatus(self.status).phrase if self.status in HTTPStatus.__members__.values() else ""
        default = Reason.SERVER_ERROR if self.status >= 500 else Reason.REFUSED
        text = f"{what}: the server answers {self.status} {phrase}".rstrip() + (f"; {hint}" if hint else "")
        found = reason or _REASONS.get(self.status, default)
        return FetchError(found, text, _retry_after_s(self.headers.get("Retry-After")))


Refused: TypeAlias = Callable[[Refusal], FetchError]
"""Turns a refusal into an error in the words of one kind of server."""


def place(url: str) -> str:
    """Host and path of a URL: what may stand in a message."""
    parts = urlsplit(url)
    return f"{parts.hostname}{f':{parts.port}' if parts.port else ''}{parts.path}"


def failure_of(error: Exception, where: str, stall_s: float) -> FetchError:
    """What a library raised while an answer was waited for, as an error."""
    if isinstance(error, requests.ConnectTimeout):
        return FetchError(Reason.UNREACHABLE, f"{where}: no connection could be made in time")
    if isinstance(error, requests.Timeout | urllib3.exceptions.TimeoutError | TimeoutError):
        return FetchError(Reason.STALLED, f"{where}: not a byte for {stall_s:g} s")
    if isinstance(error, requests.exceptions.InvalidURL | requests.exceptions.InvalidSchema):
        return FetchError(Reason.BAD_SOURCE, f"{where} is not an address that can be asked")
    if isinstance(error, requests.TooManyRedirects):
        return FetchError(Reason.REFUSED, f"{where} redirects too often")
    return FetchError(Reason.UNREACHABLE, f"{where}: {_cause(error)}")


def _cause(error: BaseException) -> str:
    """The innermost reason that says something, without the URLs that the outer ones repeat."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, OSError) and error.strerror and not isinstance(error, requests.RequestException):
        return error.strerror
    inner = [getattr(error, "reason", None), *error.args, error.__cause__]
    found = (_cause(part) for part in inner if isinstance(part, BaseException))
    return next((said for said in found if said != _CUT), _CUT)


def _retry_after_s(said: str | None) -> float | None:
    """Seconds of a Retry-After header: a number, or a date."""
    if said is None:
        return None
    try:
        seconds = float(said) if said.strip().isdigit() else parsedate_to_datetime(said).timestamp() - time.time()
    except ValueError:
        return None
    return min(max(seconds, 0.0), _MAX_RETRY_AFTER_S)
