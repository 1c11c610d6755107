"""What the probes are told: `Vitals` decides, `Watch` looks four times a second and tells `grpc.health.v1`.

    ""  and "readiness"   SERVING once the model is loaded, while the engine is well and nobody has asked to stop
    "liveness"            NOT_SERVING only when the engine is stuck or dead; being busy or draining is no reason

Knows no queue and no model.
"""

import asyncio
import time
from typing import Protocol

from grpc_health.v1 import health_pb2
from grpc_health.v1.health import aio as health_aio

from tulip_rose.tulip.metrics import Metrics

LOOK_EVERY_S = 0.25

_STATUS = {
    True: health_pb2.HealthCheckResponse.SERVING,
    False: health_pb2.HealthCheckResponse.NOT_SERVING,
}


class Pulse(Protocol):
    """What the engine's thread tells about itself."""

    failure: BaseException | None

    def stuck_s(self, now: float) -> float:
        """Seconds that the oldest launched step has been running; 0.0 when idle."""
        ...


class Vitals:
    """Whether the process is alive, and whether it should be given calls."""

    def __init__(self, stuck_after_s: float) -> None:
        self._stuck_after_s = stuck_after_s
        self._pulse: Pulse | None = None
        self._draining = False

    def loaded(self, pulse: Pulse) -> None:
        """The engine runs."""
        self._pulse = pulse

    def drain(self) -> None:
        """Somebody asked to stop."""
        self._draining = True

    @property
    def failure(self) -> BaseException | None:
        """Why the engine is dead; None while it is not."""
        return None if self._pulse is None else self._pulse.failure

    def alive(self, now: float) -> bool:
        """False when stuck or dead; a model that loads is alive."""
        if self._pulse is None:
            return True
        return self._pulse.failure is None and self._pulse.stuck_s(now) < self._stuck_after_s

    def ready(self, now: float) -> bool:
        """Whether callers should come here."""
        return self.up(now) and not self._draining

    def up(self, now: float) -> bool:
        """Whether there is an engine, and it is well."""
        return self._pulse is not None and self.alive(now)


class Watch:
    """Keeps the health service and the gauges in step with the vitals. Call `look` before anybody can ask."""

    def __init__(self, vitals: Vitals, metrics: Metrics) -> None:
        self.servicer = health_aio.HealthServicer()
        self._vitals = vitals
        self._metrics = metrics

    async def look(self) -> None:
        """Tell what the vitals say now."""
        now = time.monotonic()
        alive, ready = self._vitals.alive(now), self._vitals.ready(now)
        for service, well in (("liveness", alive), ("readiness", ready), ("", ready)):
            await self.servicer.set(service, _STATUS[well])
        self._metrics.up.set(self._vitals.up(now))

    async def until_death(self) -> BaseException:
        """Look again and again; returns why the engine died, once it has."""
        while True:
            failure = self._vitals.failure
            await self.look()
            if failure is not None:
                return failure
            await asyncio.sleep(LOOK_EVERY_S)
