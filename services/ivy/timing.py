"""`Timing` and `Work`: where the time of a request went, and how much it was. Stages write; log and metrics read."""

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aiohttp import web
from trellis_wire.v1 import embedding_pb2 as pb

if TYPE_CHECKING:
    from ivy.traces import RequestTrace

Metadata = tuple[tuple[str, str], ...]
"""Names and values that travel beside a call to an engine."""

STAGES = ("parse", "hold", "tokenize", "queue", "launch", "forward", "settle", "render")
"""In their order. From `queue` to `settle` they are the engine's: the longest of the calls that a request made."""


@dataclass(slots=True)
class Timing:
    """Stages of one request, in seconds."""

    began: float = field(default_factory=time.perf_counter)
    parse_s: float = 0.0
    hold_s: float = 0.0
    """Wait for an engine where there was none; that of calls at the same time counts once."""
    tokenize_s: float = 0.0
    queue_s: float = 0.0
    """Longest wait of an input in an engine."""
    launch_s: float = 0.0
    """Longest packing of a batch that had an input in it."""
    forward_s: float = 0.0
    """Longest forward pass of such a batch."""
    settle_s: float = 0.0
    """Longest time from the result of such a batch until its texts had it."""
    render_s: float = 0.0
    found_at: float | None = None
    """On the clock of `time.perf_counter`: since then all rows are there, and the answer is made."""
    metadata: Metadata = ()
    """For engines: whose calls these are."""
    trace: "RequestTrace | None" = None
    """Where the request belongs to one."""
    _waits: tuple[tuple[float, float], ...] = ()
    """For an engine: when each began and ended, none beside another and the last one last."""

    def took(self, stage: str, began: float) -> None:
        """A stage of the gateway that began at `began`, on the clock of `time.perf_counter`, is over."""
        now = time.perf_counter()
        setattr(self, f"{stage}_s", now - began)
        if self.trace is not None:
            self.trace.stage(stage, began, now)

    def held(self, began: float) -> None:
        """A wait for an engine that began at `began`, on the clock of `time.perf_counter`, is over."""
        now = time.perf_counter()
        apart = tuple(each for each in self._waits if each[1] < began)
        first = min([began, *(start for start, _ in self._waits[len(apart) :])])
        self._waits = (*apart, (first, now))
        self.hold_s = sum(end - start for start, end in self._waits)
        if self.trace is not None:
            self.trace.stage("hold", began, now)

    def answered(self, answer: pb.EmbedResponse) -> None:
        """An engine says what it took."""
        self.queue_s = max(self.queue_s, answer.queue_ms / 1000)
        self.launch_s = max(self.launch_s, answer.launch_ms / 1000)
        self.forward_s = max(self.forward_s, answer.forward_ms / 1000)
        self.settle_s = max(self.settle_s, answer.settle_ms / 1000)

    def found(self) -> None:
        """All rows of the request are there."""
        self.found_at = time.perf_counter()

    def total_s(self) -> float:
        """From the beginning until now."""
        return time.perf_counter() - self.began

    def header(self) -> str:
        """As `Server-Timing`, in milliseconds."""
        stages = [f"{stage};dur={getattr(self, f'{stage}_s') * 1000:.3f}" for stage in STAGES]
        return f"{', '.join(stages)}, total;dur={self.total_s() * 1000:.3f}"


@dataclass(slots=True)
class Work:
    """What a request was, for its log line: how much, and never what."""

    inputs: int = 0
    tokens: int = 0


TIMING = web.RequestKey("timing", Timing)
WORK = web.RequestKey("work", Work)
