"""`Watch`: keeps looking at one engine, so that requests need not find out for themselves."""

import asyncio
import logging
from collections.abc import Callable
from functools import partial

import grpc

from ivy.client.channel import EngineChannel
from ivy.client.endpoint import Endpoint
from ivy.door import code_of

READY_PERIOD_S = 2.0
DOWN_PERIOD_S = 0.25
LEAST_PERIOD_S = 0.1
"""Between looks that failed calls ask for."""

_log = logging.getLogger(__name__)


class Watch:
    """Writes what it sees into the endpoint."""

    def __init__(
        self, endpoint: Endpoint, channel: EngineChannel, clock: Callable[[], float], changed: Callable[[], None]
    ) -> None:
        self._endpoint = endpoint
        self._channel = channel
        self._clock = clock
        self._changed = changed
        self._kicked = asyncio.Event()

    def kick(self) -> None:
        """Look again now: a call has failed."""
        self._kicked.set()

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            self._kicked.clear()
            await self._look()
            await asyncio.sleep(LEAST_PERIOD_S)
            await self._wait(READY_PERIOD_S if self._endpoint.ready else DOWN_PERIOD_S)

    async def _look(self) -> None:
        write = await self._seen()
        # Read here and not before the look: a call may have been lost meanwhile.
        before, was_ready = self._endpoint.told, self._endpoint.ready
        write()
        if was_ready != self._endpoint.ready:
            _log.info("engine %s is %s", self._endpoint.address, "ready" if self._endpoint.ready else "not ready")
        # Whoever is told looks at all engines: hundreds that stay as they are must not make it do so with each look.
        if before != self._endpoint.told:
            self._changed()

    async def _seen(self) -> Callable[[], None]:
        """What writes what a look sees."""
        try:
            card = await self._channel.look()
        except grpc.RpcError as error:
            is_silent = code_of(error) is grpc.StatusCode.DEADLINE_EXCEEDED
            return self._endpoint.seen_silent if is_silent else self._endpoint.seen_lost
        except ValueError as error:
            _log.error("engine %s cannot be used: %s", self._endpoint.address, error)
            return self._endpoint.seen_lost
        if card is None:
            return self._endpoint.seen_down
        return partial(self._endpoint.seen_ready, card, self._clock())

    async def _wait(self, period_s: float) -> None:
        try:
            async with asyncio.timeout(period_s - LEAST_PERIOD_S):
                await self._kicked.wait()
        except TimeoutError:
            return
