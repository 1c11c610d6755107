"""`Watch`: keeps looking at one engine, so that requests need not find out for themselves."""

import asyncio
import logging
from collections.abc import Callable

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
            was_ready = self._endpoint.ready
            await self._look()
            if was_ready != self._endpoint.ready:
                state = "ready" if self._endpoint.ready else "not ready"
                _log.info("engine %s is %s", self._endpoint.address, state)
            self._changed()
            await asyncio.sleep(LEAST_PERIOD_S)
            await self._wait(READY_PERIOD_S if self._endpoint.ready else DOWN_PERIOD_S)

    async def _look(self) -> None:
        try:
            card = await self._channel.look()
        except grpc.RpcError as error:
            if code_of(error) is grpc.StatusCode.DEADLINE_EXCEEDED:
                self._endpoint.seen_silent()
            else:
                self._endpoint.seen_lost()
            return
        except ValueError as error:
            _log.error("engine %s cannot be used: %s", self._endpoint.address, error)
            self._endpoint.seen_lost()
            return
        if card is None:
            self._endpoint.seen_down()
        else:
            self._endpoint.seen_ready(card, self._clock())

    async def _wait(self, period_s: float) -> None:
        try:
            async with asyncio.timeout(period_s - LEAST_PERIOD_S):
                await self._kicked.wait()
        except TimeoutError:
            return
