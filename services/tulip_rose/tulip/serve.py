"""The life of a serving process: listen, load, serve, drain, end. When each stage comes, and the exit code.

What a stage does is `process`. Knows no arguments.
"""

import asyncio
import logging
import signal
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

from tulip_rose.tulip.config import Config
from tulip_rose.tulip.errors import ConfigError
from tulip_rose.tulip.process import LoadedEngine, Process

STOPPED = 0
"""Exit code after a signal."""
DIED = 1
"""Exit code when the engine could not go on."""

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


async def serve(config: Config, load: Callable[[Config], LoadedEngine], started: float) -> int:
    """Serve until a signal to stop, or until the engine dies.

    Args:
        config: what to serve, where, and with which limits.
        load: makes the engine; called in a thread, may take minutes.
        started: `time.monotonic()` seconds when the process began, to tell how long the start took.

    Returns:
        The exit code: STOPPED or DIED.

    Raises:
        ConfigError: an address cannot be had, or the model is not warm in time.
        LoadError: the model cannot be served.
    """
    stop = asyncio.create_task(_signal_to_stop())
    await asyncio.sleep(0)  # the handlers stand before anything else happens
    process = Process(config, started)
    await process.listen()
    try:
        engine = await _warm(process, config, load, stop)
        if engine is None:
            _log.info("stopped while loading")
            await process.stop()
            return STOPPED
        await process.attach(engine)
    except BaseException:
        await process.stop()
        raise
    _log.info(
        "ready on %s in %.1f s; metrics on %s", process.address, time.monotonic() - started, process.metrics_address
    )
    return await _until_end(process, stop)


async def _warm(
    process: Process, config: Config, load: Callable[[Config], LoadedEngine], stop: asyncio.Task[None]
) -> LoadedEngine | None:
    """An engine that is loaded and warm; None where the signal to stop came first.

    Raises:
        ConfigError: it took too long; says how far it was.
        LoadError: the model cannot be served, or a graph cannot be had.
    """
    loading = _in_thread(lambda: process.warm(load(config)))
    timeout_s = config.graphs.timeout_s
    left_s = max(0.0, timeout_s - process.warmup.seconds())
    either: set[asyncio.Future[Any]] = {loading, stop}
    await asyncio.wait(either, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
    if loading.done():
        return loading.result()
    if stop.done():
        return None
    raise ConfigError(
        f"--warmup-timeout-seconds: not ready after {timeout_s:g} s ({process.warmup}): allow more, or prewarm fewer"
    )


async def _until_end(process: Process, stop: asyncio.Task[None]) -> int:
    death = asyncio.create_task(process.until_death())
    if not await _first(death, stop):
        _log.info("stopping: accepted calls are finished first")
        drained = asyncio.create_task(process.drain())
        await _first(death, drained)
        drained.cancel()
    died = death.done()
    if died:
        process.bury(death.result())
    death.cancel()
    await process.stop()
    if died:
        _log.critical("the engine died (%s), so this process ends", death.result())
        return DIED
    _log.info("stopped")
    return STOPPED


async def _first(one: "asyncio.Future[Any]", other: "asyncio.Future[None]") -> bool:
    """Wait for either; true when `one` is done."""
    await asyncio.wait({one, other}, return_when=asyncio.FIRST_COMPLETED)
    return one.done()


async def _signal_to_stop() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()


def _in_thread(work: Callable[[], _T]) -> "asyncio.Future[_T]":
    """Run in a daemon thread: a signal while the model loads must not wait for the load, as an executor would."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def run() -> None:
        try:
            result = work()
        except BaseException as error:
            loop.call_soon_threadsafe(done.set_exception, error)
        else:
            loop.call_soon_threadsafe(done.set_result, result)

    threading.Thread(target=run, name="tulip-load", daemon=True).start()
    return done
