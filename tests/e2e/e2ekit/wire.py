"""A TCP connection to `kubectl proxy` that a test can stall, break, close to everybody, or make forgetful."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from e2ekit.kubectl import Kubectl

_PROXY_S = 30.0
_VERSION = re.compile(rb"resourceVersion=\d+")


def _flowing() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


@dataclass(eq=False)
class _Line:
    """One connection.

    Attributes:
        flowing: whether it carries anything.
        watches: whether a watch is what was asked for on it last.
    """

    near: asyncio.StreamWriter
    far: asyncio.StreamWriter
    flowing: asyncio.Event = field(default_factory=_flowing)
    watches: bool = False


@dataclass
class Wire:
    """The connections of those who take `port` for the API server.

    Attributes:
        flowing: whether any of them carries anything.
        aged: whether each watch is asked for from the first version of all, which no API server remembers.
    """

    socket: Path
    port: int = 0
    flowing: asyncio.Event = field(default_factory=_flowing)
    aged: bool = False
    server: asyncio.Server | None = None
    open: set[_Line] = field(default_factory=set)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def up(self) -> "Wire":
        self.server = await asyncio.start_server(self._take, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def down(self) -> None:
        self.server.close()
        self.cut()
        await asyncio.gather(*self.tasks)

    def cut(self) -> None:
        for line in self.open:
            line.flowing.set()
            line.near.transport.abort()
            line.far.transport.abort()

    def watches(self) -> list[_Line]:
        """Those of now that are not stalled."""
        return [line for line in self.open if line.watches and line.flowing.is_set()]

    def stall_watches(self) -> None:
        """Let the watches of now say nothing more, as if a router had forgotten them."""
        for line in self.watches():
            line.flowing.clear()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_unix_connection(self.socket)
        except OSError:
            writer.transport.abort()
            return
        line, task = _Line(writer, far_writer), asyncio.current_task()
        self.open.add(line)
        self.tasks.add(task)
        await asyncio.gather(self._pump(line, reader, far_writer), self._pump(line, far_reader, writer))
        self.open.discard(line)
        self.tasks.discard(task)

    async def _pump(self, line: _Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                await self.flowing.wait()
                await line.flowing.wait()
                writer.write(self._asked(line, data) if writer is line.far else data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()

    def _asked(self, line: _Line, data: bytes) -> bytes:
        """What is said to the API server."""
        line.watches = b"watch=true" in data
        return _VERSION.sub(b"resourceVersion=1", data) if line.watches and self.aged else data


@asynccontextmanager
async def wired(kubectl: Kubectl, folder: Path) -> AsyncIterator[Wire]:
    """A wire to the API server, while inside."""
    socket = folder / "proxy"
    proxy = await asyncio.create_subprocess_exec(
        *kubectl.command("proxy", f"--unix-socket={socket}"), stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(_PROXY_S):
            await proxy.stdout.readline()
        wire = await Wire(socket).up()
        yield wire
        await wire.down()
    finally:
        proxy.terminate()
        await proxy.wait()
