"""The road of a fetch: list what a source holds, download it beside the target, check it, and publish it at once.

The same for all sources and for all callers. Never knows a command line, nor a manifest.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from trellis_operator.source import FetchedSource, HuggingFaceSource, PackageSource, S3Source
from trellis_operator.sources import select
from trellis_operator.sources.download import Download
from trellis_operator.sources.failure import FetchError, Reason, disk_errors
from trellis_operator.sources.hub import DEFAULT_ENDPOINT, Hub
from trellis_operator.sources.listing import FileSource, Listing
from trellis_operator.sources.metrics import FetchMetrics
from trellis_operator.sources.neighbours import Neighbours
from trellis_operator.sources.package import Package
from trellis_operator.sources.patience import Deadline, Patience, Retries
from trellis_operator.sources.progress import Progress, duration
from trellis_operator.sources.s3 import S3
from trellis_operator.sources.select import Part
from trellis_operator.sources.sigv4 import Credentials
from trellis_operator.sources.staging import Staging
from trellis_operator.sources.web import Web


@dataclass(frozen=True)
class Surroundings:
    """What the environment says: where the hub is, and who asks.

    Attributes:
        hub_endpoint: URL of the hub or of a mirror.
        hub_token: None asks as anybody.
        s3_credentials: None does not sign.
    """

    hub_endpoint: str = DEFAULT_ENDPOINT
    hub_token: str | None = field(default=None, repr=False)
    s3_credentials: Credentials | None = None

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Surroundings":
        """Read HF_ENDPOINT, HF_TOKEN, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN.

        Raises:
            FetchError: BAD_SOURCE when HF_ENDPOINT is no URL, or only one half of the access key is there.
        """
        endpoint = environment.get("HF_ENDPOINT") or DEFAULT_ENDPOINT
        if not endpoint.startswith(("http://", "https://")):
            raise FetchError(Reason.BAD_SOURCE, "HF_ENDPOINT is not an http or https URL")
        key, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
        if bool(key) != bool(secret):
            raise FetchError(Reason.BAD_SOURCE, "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set")
        session = environment.get("AWS_SESSION_TOKEN") or None
        return cls(
            hub_endpoint=endpoint,
            hub_token=(environment.get("HF_TOKEN") or "").strip() or None,
            s3_credentials=Credentials(key.strip(), secret.strip(), session) if key and secret else None,
        )


@dataclass(frozen=True)
class Order:
    """What is to be fetched.

    Attributes:
        source: where from.
        target: the folder that is published; its parent must be writable.
        part: how much of the model.
        patience: when it is given up.
        keep: names of the folders beside the target that stay, where all that is there is of one model; None leaves
            whatever is there alone.
    """

    source: FetchedSource
    target: Path
    part: Part
    patience: Patience
    keep: frozenset[str] | None = None


@dataclass(frozen=True)
class Fetched:
    """What lies in the target now.

    Attributes:
        revision: that was found, e.g. a commit; empty when the source has none.
        total_bytes: of all files.
    """

    revision: str
    total_bytes: int


class Fetch:
    """One order on its way."""

    def __init__(self, order: Order, surroundings: Surroundings, progress: Progress, metrics: FetchMetrics) -> None:
        self._order = order
        self._surroundings = surroundings
        self._progress = progress
        self._metrics = metrics
        self._deadline = Deadline(order.patience.deadline_s)
        self._staging = Staging(order.target)
        around = None if order.keep is None else Neighbours(self._staging.target, order.keep, progress.say)
        self._neighbours = around
        self._retries = Retries(order.patience, self._deadline, self._on_failure)

    def run(self) -> Fetched:
        """Fetch, unless the target holds what is ordered.

        Raises:
            FetchError: it cannot be had; what arrived stays for the next run.
        """
        found = self._published()
        if found is None:
            with self._staging.locked(self._deadline, self._progress.say):
                return self._published() or self._fetch()
        if self._neighbours is not None:
            with disk_errors(self._order.target.parent):
                self._neighbours.clear()
        return found

    def _fetch(self) -> Fetched:
        source = self._open_source()
        part, where = self._order.part, describe(self._order.source)
        listing = self._retries.call(
            lambda: source.listing(select.wanted(part)), progress=lambda: self._progress.received_bytes
        )
        select.check(listing, part, where)
        self._progress.say(
            f"{where}: {len(listing.files)} files{f' of {listing.revision}' if listing.revision else ''}"
        )
        incoming = self._staging.incoming(listing.fingerprint())
        self._use_and_clear(incoming, listing)
        download = Download(source, incoming, self._retries, self._deadline, self._progress)
        self._staging.check_room(listing.total_bytes - download.present(listing))
        download.bring(listing)
        self._staging.publish(incoming, self._record(listing))
        return Fetched(listing.revision, listing.total_bytes)

    def _use_and_clear(self, incoming: Path, listing: Listing) -> None:
        """Make room before it is needed, and never of what is needed."""
        if self._neighbours is None:
            return
        with disk_errors(incoming):
            self._neighbours.lend(incoming, listing.fingerprint(), listing)
            self._neighbours.clear()

    def _published(self) -> Fetched | None:
        """What the target holds, when that is what is ordered.

        Raises:
            FetchError: OCCUPIED when it holds something else.
        """
        record = self._staging.record()
        if record is None:
            return None
        if record.get("source") != identity(self._order.source) or not _covers(record, self._order.part):
            held = f"{record.get('part')} of {record.get('source')}"
            raise FetchError(Reason.OCCUPIED, f"{self._order.target} holds another model: {held}")
        self._progress.say(f"{self._order.target} holds {describe(self._order.source)} already")
        return Fetched(str(record["revision"]), sum(int(file["size"]) for file in record["files"].values()))

    def _record(self, listing: Listing) -> dict[str, Any]:
        files = {file.path: {"size": file.size, "checksum": str(file.checksum or "")} for file in listing.files}
        return {
            "source": identity(self._order.source),
            "part": self._order.part.value,
            "revision": listing.revision,
            "files": files,
        }

    def _open_source(self) -> FileSource:
        patience, around = self._order.patience, self._surroundings
        web = Web(patience.stall_s, self._deadline)
        match self._order.source:
            case HuggingFaceSource() as source:
                return Hub(source, around.hub_endpoint, around.hub_token, web)
            case S3Source() as source:
                return S3(source, around.s3_credentials, web)
            case PackageSource() as source:
                return Package(source, self._staging.scratch(), patience, self._deadline, self._progress, web)

    def _on_failure(self, error: FetchError, pause_s: float) -> None:
        self._metrics.count(error)
        self._progress.say(f"{error}; trying again in {duration(pause_s)}")


def describe(source: FetchedSource) -> str:
    """A source in a few words."""
    match source:
        case HuggingFaceSource():
            return f"huggingFace {source.repo} {source.revision or 'main'}"
        case S3Source():
            return f"s3://{source.bucket}/{source.folder}"
        case PackageSource():
            return f"package {source.name} {source.version} {source.path}"


def identity(source: FetchedSource) -> dict[str, str | None]:
    """What makes two sources the same: all but the Secrets that open them."""
    said = {key: value for key, value in asdict(source).items() if key not in ("token", "secret")}
    return {"kind": type(source).__name__.removesuffix("Source"), **said}


def _covers(record: Mapping[str, Any], part: Part) -> bool:
    return record.get("part") in list(Part) and Part(record["part"]).covers(part)
