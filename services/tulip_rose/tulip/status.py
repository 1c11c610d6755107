"""The one door from errors to gRPC status codes. Knows no call and no queue."""

import grpc

from tulip_rose.rose.errors import RoseError, TooLargeError
from tulip_rose.tulip.errors import BadCall, CallError, Cancelled, DeadlinePassed, NotServing, QueueFull, WrongDigest

STATUS_OF: dict[type[CallError], grpc.StatusCode] = {
    BadCall: grpc.StatusCode.INVALID_ARGUMENT,
    WrongDigest: grpc.StatusCode.FAILED_PRECONDITION,
    QueueFull: grpc.StatusCode.RESOURCE_EXHAUSTED,
    NotServing: grpc.StatusCode.UNAVAILABLE,
    DeadlinePassed: grpc.StatusCode.DEADLINE_EXCEEDED,
    Cancelled: grpc.StatusCode.CANCELLED,
}

CODES = (grpc.StatusCode.OK.name, *(code.name for code in STATUS_OF.values()), grpc.StatusCode.INTERNAL.name)
"""Every code that a call can end with."""


def status_of(error: Exception) -> tuple[grpc.StatusCode, str]:
    """The status code and the text for the caller.

    What a call did wrong is told as it is. What failed inside is told in general words: an exception of the engine
    may quote tensors or paths, and belongs in the log.
    """
    if isinstance(error, CallError):
        return STATUS_OF[type(error)], str(error)
    if isinstance(error, TooLargeError):
        return grpc.StatusCode.INTERNAL, "a text of this call has no room on the engine's device, not even alone"
    if isinstance(error, RoseError):
        return grpc.StatusCode.INTERNAL, "the engine failed on a batch with this call"
    return grpc.StatusCode.INTERNAL, "internal error"
