"""Keeps programs running until it is told to stop. Never knows what they are."""

import asyncio
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Literal

from trellis_operator.errors import ChildError
from trellis_operator.local.backoff import Backoff
from trellis_operator.local.child import Child
from trellis_operator.local.programs import Program

_PROBE_EVERY_S = 0.1
_REPORT_EVERY_S = 5.0


class Supervisor:
    """Starts programs, waits until each was ready, and starts the dead ones again.

    Before all were ready once, a death is the end: a wrong setting would only die again. Afterwards it is an accident.
    """

    def __init__(
        self, programs: Sequence[Program], say: Callable[[str], None], hear: Callable[[str, str], None]
    ) -> None:
        self._programs = programs
        self._say = say
        self._hear = hear
        self._children: dict[str, Child] = {}
        self._ready = {program.name: asyncio.Event() for program in programs}
        self._started = False
        self._stopping = asyncio.Event()
        self._keepers: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Start all programs and wait until each is ready, or until `stop` is called.

        Raises:
            ChildError: one ended, or was not ready in time.
        """
        self._keepers = [asyncio.create_task(self._keep(program)) for program in self._programs]
        ready = asyncio.create_task(self._all_ready())
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({ready, stopping, *self._keepers}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
            stopping.cancel()
        for keeper in self._keepers:
            if keeper.done():
                keeper.result()
        self._started = True

    async def run(self) -> None:
        """Keep the programs running until `stop` is called."""
        await asyncio.gather(*self._keepers)

    async def stop(self) -> None:
        """Stop all programs, those of a lower rank first, each given its time to finish what it accepted."""
        self._stopping.set()
        ranked = sorted(self._programs, key=lambda program: program.stop_rank)
        for _, rank in groupby(ranked, key=lambda program: program.stop_rank):
            await asyncio.gather(*(self._stop(program) for program in rank))
        await asyncio.gather(*self._keepers, return_exceptions=True)

    def kill(self) -> None:
        """End all programs at once."""
        self._stopping.set()
        for child in self._children.values():
            child.kill()

    async def _all_ready(self) -> Literal[True]:
        for event in self._ready.values():
            await event.wait()
        return True

    async def _stop(self, program: Program) -> None:
        child = self._children.get(program.name)
        if child is not None:
            await child.stop(program.stop_timeout_s)

    async def _keep(self, program: Program) -> None:
        backoff = Backoff()
        while not self._stopping.is_set():
            child = await Child.start(program.name, program.command, self._hear)
            self._children[program.name] = child
            if self._stopping.is_set():
                child.kill()
            ready_for_s = await self._run(program, child)
            if self._stopping.is_set():
                return
            backoff = backoff.after(ready_for_s)
            self._say(f"starting {program.name} again in {backoff.delay_s:g} s")
            await self._pause(backoff.delay_s)
            backoff = backoff.doubled()

    async def _run(self, program: Program, child: Child) -> float:
        """See one run through; returns for how many seconds it was ready.

        Raises:
            ChildError: it ended before all programs were ready once.
        """
        readiness = asyncio.create_task(self._until_ready(program, child))
        code = await child.wait()
        readiness.cancel()
        [ready_at] = await asyncio.gather(readiness, return_exceptions=True)
        if self._stopping.is_set():
            return 0.0
        line = f"{program.name} {_fate(code)}" + (f": {child.last_line}" if child.last_line else "")
        if not self._started:
            raise ChildError(line)
        self._say(line)
        return time.monotonic() - ready_at if isinstance(ready_at, float) else 0.0

    async def _until_ready(self, program: Program, child: Child) -> float:
        """Probe until ready, and return when that was; kill what does not get ready in time."""
        start = reported = time.monotonic()
        while not await program.probe():
            now = time.monotonic()
            if now - start > program.ready_timeout_s:
                child.last_line = f"not ready after {program.ready_timeout_s:g} s; its last line was: {child.last_line}"
                child.kill()
                return now
            if now - reported > _REPORT_EVERY_S:
                self._say(f"{program.name}: not ready yet after {now - start:.0f} s")
                reported = now
            await asyncio.sleep(_PROBE_EVERY_S)
        self._say(f"{program.name}: ready after {time.monotonic() - start:.1f} s (process {child.pid})")
        self._ready[program.name].set()
        return time.monotonic()

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stopping.wait(), seconds)
        except TimeoutError:
            return


def _fate(code: int) -> str:
    return f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
