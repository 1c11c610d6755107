"""`Timing` and `Work`: where the time of a request went, and how much it was. Stages write; log and metrics read."""

import time
from dataclasses import dataclass, field

from aiohttp import web


@dataclass(slots=True)
class Timing:
    """Stages of one request, in seconds."""

    began: float = field(default_factory=time.perf_counter)
    parse_s: float = 0.0
    tokenize_s: float = 0.0
    queue_s: float = 0.0
    """Longest wait of an input in an engine."""
    forward_s: float = 0.0
    """Longest forward pass that had an input in it."""

    def total_s(self) -> float:
        """From the beginning until now."""
        return time.perf_counter() - self.began

    def header(self) -> str:
        """As `Server-Timing`, in milliseconds."""
        return (
            f"parse;dur={self.parse_s * 1000:.3f}, tokenize;dur={self.tokenize_s * 1000:.3f}, "
            f"queue;dur={self.queue_s * 1000:.3f}, forward;dur={self.forward_s * 1000:.3f}, "
            f"total;dur={self.total_s() * 1000:.3f}"
        )


@dataclass(slots=True)
class Work:
    """What a request was, for its log line: how much, and never what."""

    inputs: int = 0
    tokens: int = 0


TIMING = web.RequestKey("timing", Timing)
WORK = web.RequestKey("work", Work)
