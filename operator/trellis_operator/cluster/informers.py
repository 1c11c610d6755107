"""All watches of children: one a kind (and a namespace, where only some are looked after), for all models."""

import asyncio
from collections.abc import Iterable

from trellis_operator.cluster.api import Api
from trellis_operator.cluster.informer import Informer, Target
from trellis_operator.cluster.metrics import Metrics
from trellis_operator.cluster.pace import Pace
from trellis_operator.kinds import CHILDREN, POD, Kind


class Informers:
    """The informers of an operator. Optional kinds come and go with what the API server knows."""

    def __init__(self, api: Api, namespaces: Iterable[str], target: Target, metrics: Metrics, pace: Pace) -> None:
        self._api, self._target, self._metrics, self._pace = api, target, metrics, pace
        self._namespaces: list[str | None] = list(namespaces) or [None]
        self._running: dict[str, list[tuple[Informer, asyncio.Task[None]]]] = {}
        self._failed: asyncio.Queue[BaseException] = asyncio.Queue()

    def follow(self, served: frozenset[str]) -> None:
        """Begin with kinds that are served and not followed yet, and end with those that are served no more."""
        wanted = {kind.name: kind for kind in (*CHILDREN, POD) if not kind.optional or kind.name in served}
        for name in set(self._running) - set(wanted):
            self._end(name)
        for name in set(wanted) - set(self._running):
            self._running[name] = [self._begin(wanted[name], namespace) for namespace in self._namespaces]

    async def wait_begun(self) -> None:
        """Wait until each has its first list; of an optional kind it is enough to know that it may not be listed."""
        await asyncio.gather(*(informer.begun.wait() for informer, _ in self._all()))

    @property
    def begun(self) -> bool:
        """Whether all kinds are known that can be."""
        return bool(self._running) and all(informer.begun.is_set() for informer, _ in self._all())

    @property
    def away(self) -> list[str]:
        """The kinds of which the API server does not tell at present, and should."""
        return sorted({each.kind.plural for each, _ in self._all() if each.away and not each.refused})

    def refused_in(self, namespace: str) -> frozenset[str]:
        """Names of the optional kinds that are served and not for us in a namespace: nothing of them is asked for."""
        here = (each for each, _ in self._all() if each.namespace in (None, namespace))
        return frozenset(each.kind.name for each in here if each.refused)

    async def run(self) -> None:
        """Stay until cancelled; then end all. An informer that ends by itself had a fault: it is raised."""
        try:
            raise await self._failed.get()
        finally:
            for _, task in self._all():
                task.cancel()

    def _end(self, name: str) -> None:
        """Follow a kind no more, and forget what is known of it."""
        for informer, task in self._running.pop(name):
            task.cancel()
            self._target.replace(informer.kind, informer.namespace, [])

    def _begin(self, kind: Kind, namespace: str | None) -> tuple[Informer, asyncio.Task[None]]:
        informer = Informer(self._api, kind, namespace, self._target, self._metrics, self._pace)
        task = asyncio.create_task(informer.run())
        task.add_done_callback(self._ended)
        return informer, task

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._failed.put_nowait(error)

    def _all(self) -> list[tuple[Informer, asyncio.Task[None]]]:
        return [each for running in self._running.values() for each in running]
