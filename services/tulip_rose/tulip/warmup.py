"""`Warmup`: how far the start of an engine is. Written by the thread that loads, read by any. Knows no gRPC.

loading ──▶ capturing ──▶ verifying ──▶ done
"""

import time
from enum import Enum
from typing import Protocol

from tulip_rose.rose.graphs.state import NO_GRAPHS, GraphState


class Stage(Enum):
    """What is being done, one after the other."""

    LOADING = "loading"
    CAPTURING = "capturing"
    VERIFYING = "verifying"
    DONE = "done"


class Warmable(Protocol):
    """What a warm-up needs of an engine."""

    @property
    def graphs(self) -> GraphState:
        """What became of graphs by now."""
        ...

    def prewarm(self) -> None:
        """Capture what is to be captured."""
        ...

    def verify(self) -> None:
        """Compare what was captured with steps without graphs."""
        ...


class Warmup:
    """Of one process; `started` is the `time.monotonic()` of its begin."""

    def __init__(self, started: float) -> None:
        self.stage = Stage.LOADING
        self._started = started
        self._took_s: float | None = None
        self._engine: Warmable | None = None

    def run(self, engine: Warmable, *, verify: bool) -> None:
        """Warm an engine up, in the thread that owns it.

        Raises:
            LoadError: a graph cannot be had, or changes vectors.
            EngineDeadError: the device can do nothing more.
        """
        self._engine = engine
        self.stage = Stage.CAPTURING
        engine.prewarm()
        if verify:
            self.stage = Stage.VERIFYING
            engine.verify()
        self._took_s = self.seconds()
        self.stage = Stage.DONE

    @property
    def graphs(self) -> GraphState:
        """Of the engine; all zeros before it is there, and where it has none."""
        return NO_GRAPHS if self._engine is None else self._engine.graphs

    def seconds(self) -> float:
        """Since the begin; once it is done, that it took."""
        return time.monotonic() - self._started if self._took_s is None else self._took_s

    def __str__(self) -> str:
        state = self.graphs
        if self.stage is Stage.LOADING:
            return "the model is loading"
        under_way = f", {state.warming} under way" if state.warming else ""
        return f"{self.stage.value}, {state.warmed} of {state.to_warm} graphs captured{under_way}"
