"""A stack whose queue can be filled and emptied on command."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from roadkit.faults import Faults
from roadkit.http import embed
from roadkit.stack import Stack, Starter
from roadkit.waiting import until

QUEUED_TOKENS = 600
_FILLING = [[101] * 100] * 5


@dataclass(frozen=True)
class Busy:
    """`QUEUED_TOKENS` tokens may wait here; the engine obeys `faults`."""

    stack: Stack
    faults: Faults

    @contextmanager
    def full(self) -> Iterator[None]:
        """Inside, the engine does nothing and 500 tokens wait; they are answered at the end, or sooner if released."""
        self.faults.hold()
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(embed, self.stack.url, _FILLING)
            try:
                until(lambda: self.stack.engine.waiting_tokens() == 500, "500 tokens wait")
                yield
            finally:
                self.faults.release()
            assert waiting.result().status == 200


def start_busy(starter: Starter, faults: Faults, *flags: str) -> Busy:
    """Start one.

    Args:
        starter: starts the programs.
        faults: commands to the engine.
        flags: of the gateway, besides the bound.
    """
    # Held for as long as a client retries, which must not look like a hang.
    engine = starter.engine("--stuck-after-seconds", "600", code=faults.code, name="engine-faulty")
    return Busy(starter.stack(engine, flags=["--max-queued-tokens", str(QUEUED_TOKENS), *flags]), faults)
