"""One run of a program: started, heard line by line, stopped. Never decides whether it runs again."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Sequence

_MAX_LINE_BYTES = 1 << 16
_MAX_SPILL_S = 2.0


class Child:
    """A running program of its own session, so that a terminal's Ctrl-C reaches it only through us.

    Attributes:
        name: in front of its lines.
        last_line: of what it wrote so far.
    """

    def __init__(self, name: str, process: asyncio.subprocess.Process, hear: Callable[[str, str], None]) -> None:
        self.name = name
        self.last_line = ""
        self._process = process
        self._hear = hear
        self._listener = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, name: str, command: Sequence[str], hear: Callable[[str, str], None]) -> "Child":
        """Start `python COMMAND...`, tied to this process.

        Args:
            name: of the program.
            command: what the interpreter gets.
            hear: gets the name and each line that the program writes.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "trellis_operator.local.tether", str(os.getpid()), *command),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=_MAX_LINE_BYTES,
            start_new_session=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        return cls(name, process, hear)

    def __repr__(self) -> str:
        """Name, process and fate."""
        return f"Child({self.name}, pid={self.pid}, returncode={self._process.returncode})"

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    async def wait(self) -> int:
        """Wait for the end and for the last line; returns the exit code, negative for a signal."""
        code = await self._process.wait()
        # A grandchild may hold the pipe open after the program has gone.
        await asyncio.wait([self._listener], timeout=_MAX_SPILL_S)
        self._listener.cancel()
        return code

    async def stop(self, timeout_s: float) -> None:
        """SIGTERM, and SIGKILL for whoever is still there after `timeout_s`."""
        self._signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(self._process.wait(), timeout_s)
        except TimeoutError:
            self.kill()
        await self.wait()

    def kill(self) -> None:
        """SIGKILL."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            self._process.send_signal(number)

    async def _listen(self) -> None:
        assert self._process.stdout is not None  # noqa: S101  (asked for in `start`)
        while True:
            try:
                line = await self._process.stdout.readline()
            except ValueError:  # longer than the limit: what was read of it is dropped
                continue
            if not line:
                return
            self._say(line.decode("utf-8", "replace").rstrip())

    def _say(self, line: str) -> None:
        self.last_line = line or self.last_line
        self._hear(self.name, line)
