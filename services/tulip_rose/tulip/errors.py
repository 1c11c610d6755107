"""Everything that Tulip refuses or gives up on, as one tree. Knows no gRPC: `status` maps it at one door.

TulipError
├── ConfigError          the process cannot start as asked; exit code 2
└── CallError            one call is not answered with vectors
    ├── BadCall          the request is wrong, and stays wrong when sent again
    ├── WrongDigest      the caller tokenized for another model than the one served
    ├── QueueFull        too many tokens wait; worth a retry, elsewhere or later
    ├── NotServing       starting, draining or dead: another engine should be asked
    ├── DeadlinePassed   the caller's time was up before the device began
    └── Cancelled        the caller went away before the device began
"""


class TulipError(Exception):
    """Root of what Tulip raises. The text is one line for a person."""


class ConfigError(TulipError):
    """The process cannot start as it was asked to."""


class CallError(TulipError):
    """One call is not answered with vectors."""


class BadCall(CallError):  # noqa: N818 (the names of the tree say what happened)
    """The request is wrong, and stays wrong when it is sent again."""


class WrongDigest(CallError):  # noqa: N818
    """The caller tokenized for another model than the one served."""


class QueueFull(CallError):  # noqa: N818
    """The queue has no room for the whole call."""

    def __init__(self, tokens: int, queued_tokens: int, max_queued_tokens: int) -> None:
        self.tokens = tokens
        self.queued_tokens = queued_tokens
        self.max_queued_tokens = max_queued_tokens
        super().__init__(f"{tokens} tokens do not fit: {queued_tokens} of at most {max_queued_tokens} tokens wait")


class NotServing(CallError):  # noqa: N818
    """Starting, draining or dead: another engine should be asked."""


class DeadlinePassed(CallError):  # noqa: N818
    """The caller's time was up before the device began."""


class Cancelled(CallError):  # noqa: N818
    """The caller went away before the device began."""
