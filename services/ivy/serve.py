"""The life of the process: listen, wait for a signal, answer what was accepted, end. Knows no request."""

import asyncio
import logging
import signal

from aiohttp import web

from ivy.config import Config
from ivy.errors import ConfigError
from ivy.gateway import Gateway, build
from ivy.memory import give_back

BACKLOG = 1024
LAST_BYTES_S = 2.0
"""For answers that are made and not yet read by their callers."""

_log = logging.getLogger(__name__)


async def serve(config: Config) -> None:
    """Serve until SIGTERM or SIGINT, then answer everything that was accepted.

    Raises:
        ConfigError: the model's files are wrong, or the address cannot be listened on.
    """
    stopped = _signals()
    gateway = build(config)
    give_back()
    # A handler is cancelled when its caller hangs up: then its calls to engines are cancelled too.
    runner = web.AppRunner(gateway.app, handler_cancellation=True, access_log=None, shutdown_timeout=LAST_BYTES_S)
    try:
        site = await _listen(runner, config)
        # To the end: engines come and go also while the last requests are answered.
        following = asyncio.create_task(gateway.discovery.run())
        await _until(stopped, following)
        await _drain(gateway, site, config)
        following.cancel()
    finally:
        await runner.cleanup()
        await gateway.close()
    _log.info("stopped")


def _signals() -> asyncio.Event:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped


async def _until(stopped: asyncio.Event, following: asyncio.Task[None]) -> None:
    """Wait for the signal. A gateway that is told no more of its engines ends at once instead of growing stale."""
    waiting = asyncio.create_task(stopped.wait())
    await asyncio.wait({waiting, following}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if following.done():
        following.result()


async def _listen(runner: web.AppRunner, config: Config) -> web.TCPSite:
    await runner.setup()
    site = web.TCPSite(runner, config.listen.host, config.listen.port, backlog=BACKLOG)
    try:
        await site.start()
    except OSError as error:
        raise ConfigError(f"--listen: {config.listen}: {error.strerror or error}") from None
    host, port = runner.addresses[0][:2]
    _log.info("listening", extra={"fields": {"address": f"{host}:{port}"}})
    return site


async def _drain(gateway: Gateway, site: web.TCPSite, config: Config) -> None:
    """Answer what was accepted. What comes meanwhile on open connections is answered too, and then they are closed."""
    gateway.life.draining = True
    _log.info("draining", extra={"fields": {"under_way": gateway.life.under_way}})
    await asyncio.sleep(config.drain_delay_s)
    await site.stop()
    gateway.hold.close()
    if not await gateway.life.idle(config.drain_timeout_s):
        _log.error("gave up on requests", extra={"fields": {"under_way": gateway.life.under_way}})
