"""What a client expects before it sends its body (RFC 9110, 10.1.1). Knows no route."""

from aiohttp import HttpVersion11, hdrs, web


async def go_on(request: web.Request) -> None:
    """Tell a client that waits to go on. What else it expects is passed over, as a server may: it gets its answer."""
    waits = request.headers.get(hdrs.EXPECT, "").lower() == "100-continue"
    if waits and request.version == HttpVersion11:
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # Nothing of the answer is sent yet: an error may still take its place.
        request.writer.output_size = 0
