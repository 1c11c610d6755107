"""kopf's part: it follows EmbeddingModels, and its one handler hands over what it was told.

`on.event` handlers write nothing to an object: no finalizer, no annotation, no status. kopf runs in a thread and a loop
of its own and is started again when a watch error ends it, so that such an error costs neither what was observed of
children nor a visit under way.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import kopf

from trellis_operator.cluster.metrics import Metrics
from trellis_operator.cluster.pace import Pace
from trellis_operator.kinds import EMBEDDING_MODEL

Object = dict[str, Any]
log = logging.getLogger(__name__)

_GROUP, _VERSION = EMBEDDING_MODEL.api_version.split("/")
_FIRST_PAUSE_S, _LAST_PAUSE_S = 1.0, 15.0
_SOUND_S = 60.0
_STOP_S = 10.0


class ModelWatch:
    """Follows EmbeddingModels.

    Attributes:
        take: called in the loop that `run` was called in, with the kind of change (None in a list) and the body.
    """

    def __init__(
        self, namespaces: Iterable[str], take: Callable[[str | None, Object], None], metrics: Metrics, pace: Pace
    ) -> None:
        self._namespaces, self._take, self._metrics, self._pace = list(namespaces), take, metrics, pace
        self._stop = threading.Event()

    async def run(self) -> None:
        """Follow until cancelled."""
        loop = asyncio.get_running_loop()
        pause_s = _FIRST_PAUSE_S
        try:
            while True:
                started = loop.time()
                await asyncio.to_thread(self._follow, loop)
                pause_s = _FIRST_PAUSE_S if loop.time() - started > _SOUND_S else min(2 * pause_s, _LAST_PAUSE_S)
                self._metrics.restart(EMBEDDING_MODEL.name, "error")
                await asyncio.sleep(pause_s)
        finally:
            self._stop.set()

    def _follow(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run kopf until it ends by itself or is told to stop; how it ended is only logged."""
        try:
            kopf.run(
                registry=self._registry(loop),
                settings=_settings(self._pace),
                namespaces=self._namespaces,
                clusterwide=not self._namespaces,
                standalone=True,
                stop_flag=self._stop,
            )
        except Exception as error:  # whatever ends kopf must not end the operator
            log.warning("the watch of EmbeddingModels ended: %s: %s", type(error).__name__, error)

    def _registry(self, loop: asyncio.AbstractEventLoop) -> kopf.OperatorRegistry:
        registry = kopf.OperatorRegistry()

        @kopf.on.login(registry=registry)
        def login(**known: Any) -> Any:
            return kopf.login_with_service_account(**known) or kopf.login_with_kubeconfig(**known)

        @kopf.on.event(_GROUP, _VERSION, EMBEDDING_MODEL.plural, registry=registry)
        def changed(event: Any, **_: Any) -> None:
            loop.call_soon_threadsafe(self._take, event["type"], dict(event["object"]))

        return registry


class _Patient:
    """Pauses without end: an API server that is away comes back."""

    def __iter__(self) -> Iterator[float]:
        pause_s = 0.5
        while True:
            yield pause_s
            pause_s = min(2 * pause_s, _LAST_PAUSE_S)


def _settings(pace: Pace) -> kopf.OperatorSettings:
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False  # events are ours, see `events`
    settings.networking.error_backoffs = _Patient()
    settings.networking.request_timeout = 30.0
    settings.watching.server_timeout = pace.watch_s
    settings.watching.inactivity_timeout = pace.silence_s
    settings.process.ultimate_exiting_timeout = None  # it is not kopf's process
    return settings
