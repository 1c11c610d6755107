"""Why a model could not be brought, in one word for programs and one sentence for people.

Never knows which source it was.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

from trellis_operator.errors import SourceError


class Reason(StrEnum):
    """One word for what happened: fit for a condition of an EmbeddingModel."""

    BAD_SOURCE = "BadSource"
    UNAUTHORIZED = "Unauthorized"
    FORBIDDEN = "Forbidden"
    NOT_FOUND = "NotFound"
    NO_WEIGHTS = "NoWeights"
    TOO_LARGE = "TooLarge"
    CHECKSUM_MISMATCH = "ChecksumMismatch"
    OCCUPIED = "Occupied"
    WRITE_FAILED = "WriteFailed"
    REFUSED = "Refused"
    RATE_LIMITED = "RateLimited"
    STALLED = "Stalled"
    UNREACHABLE = "Unreachable"
    SERVER_ERROR = "ServerError"
    CHANGED = "Changed"
    DISK_FULL = "DiskFull"
    DEADLINE_EXCEEDED = "DeadlineExceeded"

    @property
    def passes(self) -> bool:
        """Whether the same order may succeed a little later, within this process."""
        return self in (Reason.RATE_LIMITED, Reason.STALLED, Reason.UNREACHABLE, Reason.SERVER_ERROR)

    @property
    def temporary(self) -> bool:
        """Whether a fresh process may succeed with the same order: one that lists anew, has new time or more disk."""
        return self.passes or self in (Reason.CHANGED, Reason.DISK_FULL, Reason.DEADLINE_EXCEEDED)


class FetchError(SourceError):
    """A model could not be brought.

    Attributes:
        reason: in one word.
        retry_after_s: what the server asked to wait before the next try; None when it said nothing.
    """

    def __init__(self, reason: Reason, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.retry_after_s = retry_after_s


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Tell what the disk below `folder` refuses as a `FetchError`."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise FetchError(Reason.DISK_FULL, f"the disk of {folder} is full: make its volume larger") from error
        said = error.strerror or type(error).__name__
        raise FetchError(Reason.WRITE_FAILED, f"cannot write the model to {folder}: {said}") from error
