"""`Nearby`: of all engines that are known, tells `Engines` those that this gateway is to hold.

Thin: the choice lies in `subset`. It is made again whenever engines or gateways come and go, and as soon as an engine
that was chosen fails, so that another one takes its place.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from ivy.client.engines import Engines
from ivy.client.subset import Nearness, subset
from ivy.client.target import Standing, Target
from ivy.config import Config


class Nearby:
    """Keeps the choice."""

    def __init__(
        self,
        config: Config,
        engines: Engines,
        connected: Callable[[float], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`connected` is told how many engines are held."""
        self._gateway, self._bound = config.gateway_name, config.max_engines
        self._slow_start_s = config.slow_start_s
        self._engines = engines
        self._connected = connected
        self._clock = clock
        self._peers: frozenset[str] = frozenset()
        self._nearness = Nearness(self._gateway, self._peers)
        self._known: dict[str, Target] = {}
        self._ready_since: dict[str, float] = {}
        self._failing: frozenset[str] = frozenset()
        self.exceeded: Callable[[], None] = lambda: None
        """Called when there are more engines than the bound: from then on the other gateways matter."""
        engines.on_change(self._look)

    def know(self, targets: Sequence[Target]) -> None:
        """These are all engines."""
        now = self._clock()
        self._known = {each.instance or each.address: each for each in targets}
        ready = [key for key, each in self._known.items() if each.standing is Standing.READY]
        self._ready_since = {key: self._ready_since.get(key, now) for key in ready}
        if len(targets) > self._bound:
            self.exceeded()
        self._choose()

    def meet(self, gateways: Sequence[Target]) -> None:
        """These are all gateways. Who is not ready gets no requests, so it counts only while nobody is."""
        staying = [each for each in gateways if each.standing is not Standing.LEAVING]
        ready = [each for each in staying if each.standing is Standing.READY]
        peers = frozenset({each.pod or each.address for each in ready or staying} | {self._gateway})
        if peers == self._peers:
            return
        self._peers, self._nearness = peers, Nearness(self._gateway, peers)
        self._choose()

    def _look(self) -> None:
        """An engine may have begun to fail, or have come back."""
        if len(self._known) > self._bound and self._engines.failing() != self._failing:
            self._choose()

    def _choose(self) -> None:
        self._failing = self._engines.failing()
        chosen = subset(self._nearness, self._known, self._bound, self._fails)
        self._connected(float(len(chosen)))
        settled = self._clock() - self._slow_start_s
        # Who has been ready for long has been at work for others.
        self._engines.replace(
            [replace(self._known[key], warm=self._ready_since.get(key, math.inf) <= settled) for key in chosen]
        )

    def _fails(self, key: str) -> bool:
        return key in self._failing or self._known[key].standing is not Standing.READY
