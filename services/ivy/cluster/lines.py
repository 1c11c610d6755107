"""Lines out of pieces of a stream, none longer than is taken in. Pure but for the stream."""

from collections.abc import AsyncIterable, AsyncIterator

from ivy.errors import SyncFailed

MAX_LINE_BYTES = 4 * 1024 * 1024
"""Of one event: more than twice of what the API server stores as one object."""


async def lines(pieces: AsyncIterable[bytes], limit: int = MAX_LINE_BYTES) -> AsyncIterator[bytes]:
    """The whole lines of a stream; what comes after the last line break was cut off, and is dropped.

    Raises:
        SyncFailed: a line is longer than `limit`.
    """
    held = bytearray()
    async for piece in pieces:
        searched = len(held)
        held += piece
        while (end := held.find(b"\n", searched)) >= 0:
            line = bytes(held[:end])
            del held[: end + 1]
            searched = 0
            if line.strip():
                yield line
        if len(held) > limit:
            raise SyncFailed("garbage", f"a line of the watch is longer than {limit} bytes")
