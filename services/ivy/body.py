"""Reads the body of a request, within its bounds of size, memory and time. Knows no JSON."""

import asyncio
from collections.abc import Callable

from aiohttp import web

from ivy.errors import BadRequest, BodyTimeout, BodyTooLarge

BODY_TIMEOUT_S = 30.0
_UTF8 = frozenset({None, "utf-8", "utf8", "us-ascii"})


async def read_body(request: web.Request, max_bytes: int, take: Callable[[int], None]) -> bytes:
    """Read all of a body. What it says of its type is not looked at: it is JSON, or it is refused as none.

    Args:
        request: whose body.
        max_bytes: the longest body, after decompression.
        take: is told of bytes before they are kept, and may refuse them.

    Raises:
        BadRequest: its text is not UTF-8 by its own word.
        BodyTooLarge: it is longer than `max_bytes`.
        BodyTimeout: it did not arrive in time.
    """
    charset = request.charset
    if charset is not None and charset.lower() not in _UTF8:
        raise BadRequest("the body's charset is not UTF-8")
    if request.content_length is not None and request.content_length > max_bytes:
        raise _too_large(max_bytes)
    if request.content.is_eof():
        # All of it came with the head, as short bodies do: there is nothing to wait for.
        return await _read(request, max_bytes, take)
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            return await _read(request, max_bytes, take)
    except TimeoutError:
        raise BodyTimeout(f"the body did not arrive in {BODY_TIMEOUT_S:g} s") from None


async def _read(request: web.Request, max_bytes: int, take: Callable[[int], None]) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := await request.content.readany():
        size += len(part)
        if size > max_bytes:
            raise _too_large(max_bytes)
        take(len(part))
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(max_bytes: int) -> BodyTooLarge:
    return BodyTooLarge(f"the body is larger than {max_bytes} bytes")
