"""`FixedSet`: engines whose addresses were given, and stay."""

import asyncio
from collections.abc import Callable, Sequence

from ivy.client.target import Target


class FixedSet:
    """Tells `publish` its targets, once."""

    def __init__(self, targets: Sequence[Target], publish: Callable[[Sequence[Target]], None]) -> None:
        self._targets = targets
        self._publish = publish

    async def run(self) -> None:
        """Tell them, and then nothing until cancelled."""
        self._publish(self._targets)
        await asyncio.Event().wait()
