"""`Member`: one engine of the set for as long as it belongs to it: its state, its channel, the looks at it."""

import asyncio
from collections.abc import Callable

from trellis_wire.v1 import embedding_pb2 as pb

from ivy.client.channel import EngineChannel
from ivy.client.endpoint import Endpoint
from ivy.client.watch import Watch
from ivy.life import Life
from ivy.metrics import EndpointCounters
from ivy.timing import Metadata


class Member:
    """Owns what belongs to one engine. Needs a running event loop."""

    def __init__(
        self, endpoint: Endpoint, counters: EndpointCounters, clock: Callable[[], float], changed: Callable[[], None]
    ) -> None:
        self.endpoint = endpoint
        self.counters = counters
        self._clock = clock
        self._channel = EngineChannel(endpoint.address)
        self._calls = Life()
        self._watch = Watch(endpoint, self._channel, clock, changed)
        self._looking = asyncio.create_task(self._watch.run())

    async def embed(
        self, request: pb.EmbedRequest, tokens: int, timeout_s: float, metadata: Metadata
    ) -> pb.EmbedResponse:
        """Embed one chunk of `tokens`.

        Raises:
            grpc.RpcError: there was no answer, or the answer was an error.
        """
        began = self._clock()
        with self._calls.request(), self.endpoint.lease(tokens):
            ahead = self.endpoint.outstanding_tokens
            response = await self._channel.embed(request, timeout_s, metadata)
        now = self._clock()
        self.endpoint.speed.answered(ahead, now - began, now)
        self.counters.tokens.inc(tokens)
        return response

    def look_again(self) -> None:
        """A call was lost: look now whether the engine still serves."""
        self._watch.kick()

    async def leave(self, timeout_s: float) -> None:
        """Look no more, let the calls under way finish, close the connection."""
        self._looking.cancel()
        try:
            await self._calls.idle(timeout_s)
        finally:
            await self._channel.close()
