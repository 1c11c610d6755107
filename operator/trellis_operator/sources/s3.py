"""A folder in an S3 bucket as a source of files, on any server that speaks S3.

An object is read with If-Match on the ETag that was listed, so that a download never joins two versions of it.
Addresses are of the path style (`endpoint/bucket/key`), which all servers understand.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from urllib.parse import quote, urlencode

from trellis_operator.source import S3Source
from trellis_operator.sources.checksum import Checksum, Kind
from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.listing import Listing, RemoteFile, Stream
from trellis_operator.sources.refusal import Refusal
from trellis_operator.sources.s3_page import Object, error_code, read_page
from trellis_operator.sources.sigv4 import Credentials, Signer
from trellis_operator.sources.web import Web

DEFAULT_REGION = "us-east-1"
_MAX_PAGE_BYTES = 8 << 20
_MAX_PAGES = 20
"""Of a thousand objects each."""
_REASONS = {
    "InvalidAccessKeyId": Reason.UNAUTHORIZED,
    "XAdminUserNotFound": Reason.UNAUTHORIZED,  # versitygw's word for the same
    "SignatureDoesNotMatch": Reason.UNAUTHORIZED,
    "ExpiredToken": Reason.UNAUTHORIZED,
    "SlowDown": Reason.RATE_LIMITED,
}
_HINTS = {
    "InvalidAccessKeyId": "the server knows no such access key",
    "XAdminUserNotFound": "the server knows no such access key",
    "SignatureDoesNotMatch": "the secret key does not belong to the access key",
    "RequestTimeTooSkewed": "the clock of this machine is wrong",
}


class S3:
    """Lists and reads one folder of a bucket.

    Args:
        source: bucket, folder, endpoint and region.
        credentials: None does not sign: for a bucket that anybody may read.
        web: the client.
    """

    def __init__(self, source: S3Source, credentials: Credentials | None, web: Web) -> None:
        region = source.region or DEFAULT_REGION
        self._source = source
        self._bucket_url = f"{(source.endpoint or f'https://s3.{region}.amazonaws.com').rstrip('/')}/{source.bucket}"
        self._auth = Signer(credentials, region) if credentials else None
        self._prefix = f"{source.folder}/" if source.folder else ""
        self._web = web

    def listing(self, wanted: Callable[[str], bool]) -> Listing:
        """List the folder, and ask for the checksum of each wanted object."""
        objects = {found.key.removeprefix(self._prefix): found for found in self._objects()}
        return Listing(
            revision="",
            files=tuple(self._file(path, found) for path, found in objects.items() if wanted(path)),
            left_out=tuple(path for path in objects if not wanted(path)),
        )

    def open(self, file: RemoteFile, offset: int) -> AbstractContextManager[Stream]:
        """Read the version that was listed; CHANGED when there is another one by now."""
        return self._web.stream(self._url(file.path), self._auth, self._refused, offset, file.version, redirects=False)

    def _objects(self) -> list[Object]:
        found: list[Object] = []
        token: str | None = None
        for _ in range(_MAX_PAGES):
            asked = {"list-type": "2", "prefix": self._prefix} | ({"continuation-token": token} if token else {})
            url = f"{self._bucket_url}?{urlencode(asked, quote_via=quote, safe='')}"
            body, _ = self._web.read(url, self._auth, self._refused, _MAX_PAGE_BYTES, redirects=False)
            page = read_page(body)
            found += page.objects
            token = page.next_token
            if token is None:
                return found
        raise FetchError(
            Reason.TOO_LARGE, f"{self} has more than {_MAX_PAGES} thousand objects: is it a model's folder?"
        )

    def __str__(self) -> str:
        return f"s3://{self._source.bucket}/{self._prefix}"

    def _file(self, path: str, found: Object) -> RemoteFile:
        said = self._web.headers(self._url(path), self._auth, self._refused, {"x-amz-checksum-mode": "ENABLED"})
        etag = said.get("ETag", found.etag)
        size = int(said.get("Content-Length", found.size))
        return RemoteFile(path, size, stated_checksum(said) or self._checksum_of_parts(path, etag), version=etag)

    def _checksum_of_parts(self, path: str, etag: str) -> Checksum | None:
        """The ETag of an object that was uploaded in parts, where the server tells how long a part is."""
        value = etag.strip('"').lower()
        if not re.fullmatch(r"[0-9a-f]{32}-[0-9]+", value):
            return None
        try:
            said = self._web.headers(f"{self._url(path)}?partNumber=1", self._auth, self._refused, {"If-Match": etag})
        except FetchError as error:
            if error.reason.passes:
                raise
            return None  # a server that does not know parts by number
        if said.get("x-amz-mp-parts-count") != value.partition("-")[2]:
            return None
        return Checksum(Kind.MD5_OF_PARTS, value, int(said["Content-Length"]))

    def _url(self, path: str) -> str:
        return f"{self._bucket_url}/{quote(self._prefix + path, safe='/-_.~')}"

    def _refused(self, refusal: Refusal) -> FetchError:
        code = error_code(refusal.body)
        signed = "the access key may not read it" if self._auth else "give an access key with secretRef"
        hints = {
            301: f"the bucket is in region {refusal.headers.get('x-amz-bucket-region', 'unknown')}: set s3.region",
            400: "is s3.region the bucket's region?",
            401: signed,
            403: signed,
            404: "there is no such bucket or object",
        }
        told = ", ".join(part for part in (code, _HINTS.get(code) or hints.get(refusal.status, "")) if part)
        return refusal.error(str(self), told, _REASONS.get(code))


def stated_checksum(headers: Mapping[str, str]) -> Checksum | None:
    """The strongest checksum of a whole object that its headers state, if any."""
    whole = headers.get("x-amz-checksum-type", "FULL_OBJECT") == "FULL_OBJECT"
    for kind, name in ((Kind.SHA256, "x-amz-checksum-sha256"), (Kind.CRC32, "x-amz-checksum-crc32")):
        value = _from_base64(headers.get(name, ""))
        if whole and value:
            return Checksum(kind, value)
    etag = headers.get("ETag", "").strip('"').lower()
    # Under a key of the server's own the ETag is a name and no checksum.
    named = headers.get("x-amz-server-side-encryption", "AES256") != "AES256"
    customer = "x-amz-server-side-encryption-customer-algorithm" in headers
    return Checksum(Kind.MD5, etag) if re.fullmatch(r"[0-9a-f]{32}", etag) and not named and not customer else None


def _from_base64(text: str) -> str:
    """In hexadecimal digits; empty for what is not base64, as a checksum of parts (`…-3`) is not."""
    try:
        return base64.b64decode(text, validate=True).hex()
    except binascii.Error:
        return ""
