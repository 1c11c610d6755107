"""`Process`: the parts of a serving process, and what each stage of its life does with them.

When a stage comes is decided in `serve`. Knows no signals, no arguments and no exit codes.
"""

import asyncio
import logging
import time
from collections.abc import Sequence as Run
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from trellis_wire.contents import Contents, read_contents

from tulip_rose.rose.card import ModelCard
from tulip_rose.rose.errors import EngineDeadError, LoadError
from tulip_rose.rose.loop import EngineLoop, Steps
from tulip_rose.rose.plan.memory import Memory
from tulip_rose.sequence import Sequence
from tulip_rose.tulip.calls import Calls
from tulip_rose.tulip.config import Config, budgets
from tulip_rose.tulip.errors import NotServing
from tulip_rose.tulip.health import Vitals, Watch
from tulip_rose.tulip.info import UNREAD, Room
from tulip_rose.tulip.metrics import Metrics
from tulip_rose.tulip.queue import Queue
from tulip_rose.tulip.scheduler import Scheduler
from tulip_rose.tulip.server import open_grpc, open_metrics
from tulip_rose.tulip.servicer import EmbeddingServicer
from tulip_rose.tulip.warmup import Warmable, Warmup

if TYPE_CHECKING:
    from tulip_rose.tulip.traces import Traces

LAST_ANSWERS_S = 1.0
"""For answers that are ready to leave the process before its connections close."""

_log = logging.getLogger(__name__)


class LoadedEngine(Steps, Warmable, Protocol):
    """What a process needs of an engine."""

    @property
    def card(self) -> ModelCard:
        """Facts of the model."""
        ...

    @property
    def memory(self) -> Memory:
        """What it was planned to take of its device, and what it takes."""
        ...

    def close(self) -> None:
        """Give the device back."""
        ...


class Process:
    """Servers that listen from the start, and an engine once it is attached. Lives on the event loop's thread."""

    def __init__(self, config: Config, started: float | None = None) -> None:
        """Bind both addresses; `started` is the `time.monotonic()` of the process's begin, None: now.

        Raises:
            ConfigError: one of them cannot be had.
        """
        self._config = config
        self.warmup = Warmup(time.monotonic() if started is None else started)
        self._metrics = Metrics()
        self._metrics.watch_warmup(self.warmup, config.graphs.timeout_s)
        self._vitals = Vitals(config.stuck_after_s)
        self._watch = Watch(self._vitals, self._metrics)
        self._traces = _traces(config, self._metrics)
        self._servicer = EmbeddingServicer(self._metrics, config.name, self.warmup, self._traces)
        self._server, self.address = open_grpc(config.listen, self._servicer, self._watch)
        self._stop_metrics, self.metrics_address = open_metrics(config.metrics_listen, self._metrics)
        self._engine: LoadedEngine | None = None
        self._contents = UNREAD

    async def listen(self) -> None:
        """Answer probes; calls are told that the model is loading."""
        await self._watch.look()
        await self._server.start()

    def warm(self, engine: LoadedEngine) -> LoadedEngine:
        """Make an engine ready for calls, in the thread that loaded it; returns it.

        Raises:
            LoadError: a graph cannot be had or changes vectors, or a file cannot be read any more.
            EngineDeadError: the device can do nothing more.
        """
        self._contents = _contents(self._config.model)
        self.warmup.run(engine, verify=self._config.graphs.verify)
        return engine

    async def attach(self, engine: LoadedEngine) -> None:
        """Take calls from now on."""
        limits = budgets(self._config, engine.card)
        loop = asyncio.get_running_loop()

        def deliver(sequences: Run[Sequence]) -> None:
            loop.call_soon_threadsafe(self._settle, sequences)

        scheduler = Scheduler(limits.max_batch_tokens, limits.max_queued_tokens)
        self._queue = Queue(scheduler, deliver, self._metrics)
        self._calls = Calls(self._queue, self._metrics)
        self._engine = engine
        self._loop = EngineLoop(engine, self._queue)
        self._loop.start()
        self._metrics.set_card(self._config.name, engine.card, self._contents.whole)
        self._metrics.watch_memory(engine.memory)
        self._vitals.loaded(self._loop)
        room = Room(self._config.name, engine.card, limits, self._queue, self._calls, self._contents, time.time())
        self._servicer.open(room)
        await self._watch.look()

    async def until_death(self) -> BaseException:
        """Keep the probes informed; returns why the engine died, once it has."""
        return await self._watch.until_death()

    async def drain(self) -> None:
        """Send callers elsewhere, then refuse new calls, then wait until every accepted one is answered.

        Returns before that when the time to drain is up; what is left then is answered UNAVAILABLE by `stop`.
        """
        self._vitals.drain()
        self._metrics.draining.set(1)
        await self._watch.look()
        await asyncio.sleep(self._config.drain_delay_s)
        self._queue.close("draining")
        if not await self._calls.all_answered(self._config.drain_timeout_s):
            _log.warning("the time to drain is up, %r is left", self._queue)

    def bury(self, failure: BaseException) -> None:
        """The engine died: whoever waits for it is told so."""
        self._queue.close("the engine is dead")
        self._queue.fail(EngineDeadError(str(failure)))

    async def stop(self) -> None:
        """Close everything. The engine's thread is given a moment; a stuck one is left behind."""
        if self._engine is not None:
            self._queue.close("stopping")
            self._queue.fail(NotServing("stopping"))
        await asyncio.gather(self._server.stop(LAST_ANSWERS_S), asyncio.to_thread(self._stop_metrics))
        if self._engine is not None and await asyncio.to_thread(self._loop.join, LAST_ANSWERS_S):
            self._engine.close()
        if self._traces is not None:
            await asyncio.to_thread(self._traces.close)

    def _settle(self, sequences: Run[Sequence]) -> None:
        if self._traces is not None:
            self._traces.settled(sequences)
        self._calls.settle(sequences)


def _contents(folder: Path) -> Contents:
    try:
        return read_contents(folder)
    except OSError as error:
        raise LoadError(f"{error.filename}: {error.strerror}") from error


def _traces(config: Config, metrics: Metrics) -> "Traces | None":
    """Nothing of OpenTelemetry is imported where nothing is traced."""
    if config.trace_endpoint is None:
        return None
    from tulip_rose.tulip.traces import Traces

    return Traces.open(config.trace_endpoint, config.name, metrics.spans_ended)
