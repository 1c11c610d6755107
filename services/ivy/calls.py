"""`Calls`: sequences to answers of engines, chunk by chunk, a few at a time. Knows no HTTP and not what is asked."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from trellis_wire.v1 import embedding_pb2 as pb

from ivy.chunks import MAX_ROWS, Chunk, split
from ivy.client.card import Card
from ivy.timing import Metadata, Timing

CALLS_PER_ENGINE = 2
"""Of one request at a time: one that is worked on and the next one ready. More would only fill an engine's queue in
front of everybody else."""


@dataclass(frozen=True, slots=True)
class Turn:
    """When a request is served."""

    deadline: float
    """On the clock of `time.monotonic`."""
    priority: int = 0
    """How many levels it waits behind others, 0 to 999."""


_Read = TypeVar("_Read")
_Done = TypeVar("_Done")


@dataclass(frozen=True, slots=True)
class Call(Generic[_Read]):
    """What is asked with each chunk, and what is made of the answer."""

    ask: Callable[[Chunk], pb.EmbedRequest]
    """Its digest says which engines may answer."""
    read: Callable[[Chunk, pb.EmbedRequest, pb.EmbedResponse], _Read]
    """May raise: then the chunks that are under way are given up."""


class Asked(Protocol):
    """What answers a chunk."""

    async def embed(
        self, request: pb.EmbedRequest, tokens: int, timeout_s: float, timing: Timing, metadata: Metadata = ()
    ) -> pb.EmbedResponse:
        """Embed one chunk; `metadata` travels beside it, `timing` is told of waits."""
        ...


class Calls:
    """Asks engines for all sequences of a request."""

    def __init__(self, engines: Asked, chunk_tokens: int) -> None:
        self._engines = engines
        self._chunk_tokens = chunk_tokens

    async def answers(
        self,
        sequences: Sequence[Sequence[int]],
        call: Call[_Read],
        cards: Sequence[Card],
        timing: Timing,
        turn: Turn,
        *,
        rows: int = MAX_ROWS,
        tokens: int | None = None,
    ) -> list[tuple[Chunk, _Read]]:
        """Ask for all sequences, or fail with the first chunk that fails.

        Args:
            sequences: token ids, in the order of the request.
            call: how a chunk is asked for and read.
            cards: of the engines that may.
            timing: is told how long the engines took.
            turn: when the request is served.
            rows: sequences of one call at most.
            tokens: and tokens, where an answer grows with them; a longer sequence is asked for alone.

        Returns:
            Each chunk, in the order of the sequences, and what was read of its answer.

        Raises:
            NoEngine: none is ready.
            TimeoutError: the deadline has passed.
            grpc.RpcError: an engine failed.
        """
        budget = chunk_budget(self._chunk_tokens, cards)
        chunks = split(sequences, budget if tokens is None else min(budget, tokens), rows)
        if len(chunks) == 1:
            return [await self._answer(chunks[0], call, timing, turn)]
        window = asyncio.Semaphore(CALLS_PER_ENGINE * len(cards))

        async def in_window(chunk: Chunk) -> tuple[Chunk, _Read]:
            async with window:
                return await self._answer(chunk, call, timing, turn)

        return await together([in_window(chunk) for chunk in chunks])

    async def _answer(self, chunk: Chunk, call: Call[_Read], timing: Timing, turn: Turn) -> tuple[Chunk, _Read]:
        timeout_s = turn.deadline - time.monotonic()
        if timeout_s <= 0:
            raise TimeoutError
        asked = call.ask(chunk)
        asked.priority = turn.priority
        answer = await self._ask(chunk, asked, timing, timeout_s)
        timing.answered(answer)
        return chunk, call.read(chunk, asked, answer)

    async def _ask(self, chunk: Chunk, asked: pb.EmbedRequest, timing: Timing, timeout_s: float) -> pb.EmbedResponse:
        if timing.trace is None:
            return await self._engines.embed(asked, chunk.tokens, timeout_s, timing, timing.metadata)
        with timing.trace.call(chunk) as context:
            return await self._engines.embed(asked, chunk.tokens, timeout_s, timing, (*timing.metadata, *context))


def chunk_budget(asked: int, cards: Sequence[Card]) -> int:
    """Tokens of one call: as asked, else one batch; never more than an engine may queue."""
    batch = min(card.max_batch_tokens for card in cards)
    return min(asked or batch, *(card.max_queued_tokens for card in cards))


async def together(calls: Sequence[Coroutine[Any, Any, _Done]]) -> list[_Done]:
    """Await all calls; when one fails, or the caller is gone, the others are cancelled."""
    tasks = [asyncio.create_task(call) for call in calls]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
