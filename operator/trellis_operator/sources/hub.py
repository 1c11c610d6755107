"""A repository on the Hugging Face hub as a source of files.

Every file is checked: the hub states SHA-256 of large files, and git's own hash of small ones. Never keeps a token.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any
from urllib.parse import quote

import requests

from trellis_operator.source import HuggingFaceSource
from trellis_operator.sources.checksum import Checksum, Kind
from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.listing import Listing, RemoteFile, Stream
from trellis_operator.sources.refusal import Refusal
from trellis_operator.sources.web import Web

DEFAULT_ENDPOINT = "https://huggingface.co"
_MAX_LISTING_BYTES = 32 << 20


class Hub:
    """Lists and reads one repository at one revision.

    Args:
        source: repository and revision.
        endpoint: URL of the hub, or of a mirror of it.
        token: None asks as anybody.
        web: the client.
    """

    def __init__(self, source: HuggingFaceSource, endpoint: str, token: str | None, web: Web) -> None:
        self._source = source
        self._endpoint = endpoint.rstrip("/")
        self._token = token
        self._web = web
        self._commit = ""

    def listing(self, wanted: Callable[[str], bool]) -> Listing:
        """Resolve the revision to a commit, and list the files of that commit."""
        revision = quote(self._source.revision or "main", safe="")
        url = f"{self._endpoint}/api/models/{self._source.repo}/revision/{revision}?blobs=true"
        said = self._web.read_json(url, self._auth, self._refused, _MAX_LISTING_BYTES)
        try:
            files = {str(entry["rfilename"]): entry for entry in said["siblings"]}
            self._commit = str(said["sha"])
            return Listing(
                revision=self._commit,
                files=tuple(_file(path, entry) for path, entry in files.items() if wanted(path)),
                left_out=tuple(path for path in files if not wanted(path)),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise FetchError(Reason.REFUSED, f"{self._endpoint} does not answer as a hub does") from error

    def open(self, file: RemoteFile, offset: int) -> AbstractContextManager[Stream]:
        """Ask anew for each read: the address that a hub redirects to is signed for a short time."""
        url = f"{self._endpoint}/{self._source.repo}/resolve/{quote(self._commit, safe='')}/{quote(file.path)}"
        return self._web.stream(url, self._auth, self._refused, offset)

    def _auth(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """The token goes to the hub alone: requests takes the header off when a redirect leads to another host."""
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    def _refused(self, refusal: Refusal) -> FetchError:
        repo, revision = self._source.repo, self._source.revision or "main"
        given = (
            "the token is wrong or may not read it" if self._token else "give a token with tokenSecretRef (HF_TOKEN)"
        )
        hints = {
            401: f"the repository is private or gated, or there is none of that name: {given}",
            403: f"the repository is gated: ask for access on its page, with the account of the token; {given}",
            404: f"there is no such repository, or no revision {revision} in it",
        }
        if refusal.headers.get("X-Error-Code") == "RevisionNotFound":
            hints[404] = f"the repository has no revision {revision}"
        return refusal.error(f"huggingFace {repo}", hints.get(refusal.status, ""))


def _file(path: str, entry: Mapping[str, Any]) -> RemoteFile:
    lfs = entry.get("lfs")
    if lfs:
        return RemoteFile(path, int(lfs["size"]), Checksum(Kind.SHA256, str(lfs["sha256"]).lower()))
    return RemoteFile(path, int(entry["size"]), Checksum(Kind.GIT_BLOB, str(entry["blobId"]).lower()))
