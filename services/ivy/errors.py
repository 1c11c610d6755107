"""Everything that Ivy refuses or gives up on, as one tree. Knows no HTTP library, no gRPC and no JSON.

IvyError
├── ConfigError              the process cannot start as asked; exit code 2
├── SyncFailed               the set of engines could not be renewed; the last known one stays
└── ApiError                 one request is not answered with vectors
    ├── BadRequest           400  the request is wrong, and stays wrong when sent again
    │   ├── ContextTooLong   400  an input is longer than the model reads, and no truncation was asked
    │   ├── TooManyInputs    400  more inputs than one request may have
    │   └── BadDimensions    400  a size that the model cannot give
    ├── BadKey               401  no API key, or a wrong one
    ├── UnknownModel         404  no model of this name is served here
    ├── UnknownRoute         404  nothing lies at this path
    ├── WrongMethod          405  something lies there, and does not take this method
    ├── BodyTimeout          408  the body did not arrive in time
    ├── BodyTooLarge         413  the body is larger than this server reads
    ├── ClientGone           499  the caller hung up; seen by the log and the metrics only
    ├── Internal             500  a fault of ours; the body never says which
    │   └── EngineFailed     500  the engine failed, or gave a vector that is not finite
    ├── Overloaded           429  too much work waits; worth a retry a little later
    ├── NoEngine             503  no engine is ready: starting, draining, or gone
    └── DeadlinePassed       504  the request's time was up before its vectors came

`ivy.door` maps the errors of others onto this tree.
"""

from typing import ClassVar


class IvyError(Exception):
    """Root of what Ivy raises. The text is one line for a person."""


class ConfigError(IvyError):
    """The process cannot start as it was asked to."""


class SyncFailed(IvyError):  # noqa: N818 (the names of the tree say what happened)
    """The set of engines could not be renewed. The last known one stays, and it is tried again.

    Attributes:
        reason: One of `ivy.metrics.FAILURES`.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class ApiError(IvyError):
    """One request is not answered with vectors. The text goes to the caller as it is.

    Attributes:
        status: HTTP status.
        type: The `type` of the error body.
        code: The `code` of the error body, or None.
        param: The field that is wrong, e.g. `input[3]`, or None.
        retry_after_s: When a retry is worth it, or None where it is not.
    """

    status: ClassVar[int] = 500
    type: ClassVar[str] = "server_error"
    code: ClassVar[str | None] = "internal_error"

    def __init__(self, message: str, *, param: str | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.param = param
        self.retry_after_s = retry_after_s


class BadRequest(ApiError):  # noqa: N818
    """The request is wrong, and stays wrong when it is sent again."""

    status = 400
    type = "invalid_request_error"
    code: ClassVar[str | None] = None


class ContextTooLong(BadRequest):
    """An input is longer than the model reads, and no truncation was asked."""

    code = "context_length_exceeded"


class TooManyInputs(BadRequest):
    """More inputs than one request may have."""

    code = "too_many_inputs"


class BadDimensions(BadRequest):
    """A size that the model cannot give."""

    code = "unsupported_dimensions"


class BadKey(ApiError):  # noqa: N818
    """No API key, or a wrong one."""

    status = 401
    type = "invalid_request_error"
    code = "invalid_api_key"


class UnknownModel(ApiError):  # noqa: N818
    """No model of this name is served here."""

    status = 404
    type = "invalid_request_error"
    code = "model_not_found"


class UnknownRoute(ApiError):  # noqa: N818
    """Nothing lies at this path."""

    status = 404
    type = "invalid_request_error"
    code = "not_found"


class WrongMethod(ApiError):  # noqa: N818
    """Something lies at this path, and does not take this method."""

    status = 405
    type = "invalid_request_error"
    code = "method_not_allowed"


class BodyTimeout(ApiError):  # noqa: N818
    """The body did not arrive in time."""

    status = 408
    type = "invalid_request_error"
    code = "body_timeout"


class BodyTooLarge(ApiError):  # noqa: N818
    """The body is larger than this server reads."""

    status = 413
    type = "invalid_request_error"
    code = "body_too_large"


class Overloaded(ApiError):  # noqa: N818
    """Too much work waits; worth a retry a little later."""

    status = 429
    type = "rate_limit_error"
    code = "overloaded"


class ClientGone(ApiError):  # noqa: N818
    """The caller hung up. Nobody reads this answer; the log and the metrics do."""

    status = 499
    type = "invalid_request_error"
    code = "client_gone"


class Internal(ApiError):  # noqa: N818
    """A fault of ours. The body never says which: an exception may quote texts, paths or addresses."""

    def __init__(self, message: str = "the server failed on this request; its log has the reason") -> None:
        super().__init__(message)


class EngineFailed(Internal):
    """The engine failed, or gave a vector that is not finite."""

    code = "engine_failure"

    def __init__(self, message: str = "the engine failed on this request") -> None:
        super().__init__(message)


class NoEngine(ApiError):  # noqa: N818
    """No engine is ready: starting, draining, or gone."""

    status = 503
    type = "service_unavailable_error"
    code = "no_engine_ready"


class DeadlinePassed(ApiError):  # noqa: N818
    """The request's time was up before its vectors came."""

    status = 504
    type = "timeout_error"
    code = "deadline_exceeded"


def leaves(root: type[ApiError] = ApiError) -> list[type[ApiError]]:
    """Every class of the tree below `root`, for those that must cover all of it."""
    return [found for child in root.__subclasses__() for found in (child, *leaves(child))]
