"""What an API server answers that is not what was asked for. The one door of foreign errors at this edge.

OperatorError
├── RefusedError         it understood and said no: quota, admission, rights, an invalid field, a conflict
├── AwayError            it did not answer, or could not; asking again later may help
└── FencedError     (in `fence`) nothing was sent
"""

from typing import Any

from trellis_operator.errors import OperatorError

_DENIED = "denied the request"
_REFUSALS = ("field not declared in schema", "failed calling webhook", _DENIED)
"""Of a server that is there: asking again at once does not help, and a person may have to.

They come with code 500, and what a webhook denies with whatever code of an error that webhook has chosen.
"""
_AWAY = {408, 429, 500, 502, 503, 504}


class RefusedError(OperatorError):
    """The API server said no.

    Attributes:
        code: of HTTP.
        reason: of the Status object, e.g. Forbidden.
        message: of the Status object.
    """

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(f"{code} {reason}: {message}")
        self.code, self.reason, self.message = code, reason, message

    def is_of(self, *codes: int) -> bool:
        """Whether the API server itself answers with one of these codes; a webhook that denies chooses one."""
        return self.code in codes and _DENIED not in self.message


class AwayError(OperatorError):
    """The API server did not answer, or could not now.

    Attributes:
        retry_after_s: when it asked to be asked again; 0 where it did not say.
        refused: what it said, where a write that is answered like that each time is refused: with 500 it has failed
            at what was written, be it for the moment (its storage) or for good (a webhook, a range that is full).
    """

    def __init__(self, message: str, retry_after_s: float = 0.0, refused: RefusedError | None = None) -> None:
        super().__init__(message)
        self.retry_after_s, self.refused = retry_after_s, refused


def error_of(code: int, status: Any, retry_after: str | None) -> RefusedError | AwayError:
    """The error of an answer that is no success."""
    told = status if isinstance(status, dict) else {}
    reason, message = str(told.get("reason") or ""), str(told.get("message") or "")
    refused = RefusedError(code, reason, message)
    if code in _AWAY and not any(words in message for words in _REFUSALS):
        seconds = float(retry_after) if retry_after and retry_after.isdigit() else 0.0
        return AwayError(str(refused), seconds, refused if code == 500 and message else None)
    return refused
