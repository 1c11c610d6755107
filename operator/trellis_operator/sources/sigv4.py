"""Signs requests without a body as S3 asks: AWS Signature Version 4. Pure but for the clock it is given."""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import parse_qsl, quote, urlsplit

import requests

_NO_BODY = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True)
class Credentials:
    """An access key. `session_token` belongs to a key that was lent for some time."""

    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Signer:
    """Adds a signature to a request: an `auth` of requests."""

    credentials: Credentials
    region: str
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Sign host, path, query, time and all headers of Amazon's; a Range or If-Match header stays free."""
        moment = self.now().strftime("%Y%m%dT%H%M%SZ")
        parts = urlsplit(request.url or "")
        given = {name.lower(): value for name, value in request.headers.items() if name.lower().startswith("x-amz-")}
        signed = given | {"host": parts.netloc, "x-amz-content-sha256": _NO_BODY, "x-amz-date": moment}
        if self.credentials.session_token:
            signed["x-amz-security-token"] = self.credentials.session_token
        names = ";".join(sorted(signed))
        headers = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed))
        canonical = "\n".join([request.method or "", parts.path, _query(parts.query), headers, names, _NO_BODY])
        scope = f"{moment[:8]}/{self.region}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        signature = hmac.new(self._key(scope), text.encode(), hashlib.sha256).hexdigest()
        request.headers.update({name: value for name, value in signed.items() if name != "host"})
        request.headers["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.credentials.access_key_id}/{scope}, "
            f"SignedHeaders={names}, Signature={signature}"
        )
        return request

    def _key(self, scope: str) -> bytes:
        key = f"AWS4{self.credentials.secret_access_key}".encode()
        for part in scope.split("/"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        return key


def _query(query: str) -> str:
    pairs = sorted(parse_qsl(query, keep_blank_values=True))
    return "&".join(f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}" for name, value in pairs)
