"""Turns what is told into visits: one queue of models, a few workers, and a pause that grows where visits fail."""

import logging
import random
import time
from typing import Any

from trellis_operator.cluster.errors import AwayError
from trellis_operator.cluster.fence import FencedError
from trellis_operator.cluster.metrics import Metrics
from trellis_operator.cluster.models import Models, key_of
from trellis_operator.cluster.store import Key, Store
from trellis_operator.cluster.visit import GONE, STALE, Visitor
from trellis_operator.cluster.work_queue import WorkQueue
from trellis_operator.kinds import Kind

Object = dict[str, Any]
log = logging.getLogger(__name__)

_GATHER_S = 0.1
"""Changes come in bursts: one visit sees them all."""
_FIRST_PAUSE_S, _LAST_PAUSE_S = 0.5, 30.0


class Reconciler:
    """The queue and its workers. An informer's target, and where the watch of models hands over."""

    def __init__(self, visitor: Visitor, models: Models, store: Store, metrics: Metrics, resync_s: float) -> None:
        self._visitor, self._models, self._store, self._metrics = visitor, models, store, metrics
        self._resync_s = resync_s
        self._failures: dict[Key, int] = {}
        self.queue: WorkQueue[Key] = WorkQueue()
        metrics.queue_depth.set_function(self.queue.waiting)
        metrics.models.set_function(lambda: len(models))
        metrics.conditions.watch(models.bodies)

    def model_changed(self, change: str | None, body: Object) -> None:
        """Take in what the watch of models tells."""
        key = key_of(body)
        if change == "DELETED":
            self._models.drop(key, body["metadata"]["uid"])
            self.queue.add(key)
        elif self._models.put(body):
            self.queue.add(key)

    def replace(self, kind: Kind, namespace: str | None, items: list[Object]) -> None:
        """Take in all children of a kind."""
        for key in self._store.replace(kind, namespace, items):
            self._ask(key)

    def put(self, kind: Kind, item: Object) -> None:
        """Take in one child."""
        self._ask(self._store.put(kind, item))

    def drop(self, kind: Kind, item: Object) -> None:
        """One child is gone."""
        self._ask(self._store.drop(kind, item))

    def visit_all(self) -> None:
        """Ask for a visit to each model."""
        for key in self._models:
            self.queue.add(key)

    async def work(self) -> None:
        """Visit one model after another.

        Raises:
            FencedError: this process may not write any more.
        """
        while True:
            key = await self.queue.get()
            try:
                await self._visit(key)
            finally:
                self.queue.done(key)

    def _ask(self, key: Key | None) -> None:
        if key is not None and self._models.get(key) is not None:
            self.queue.add(key, _GATHER_S)

    async def _visit(self, key: Key) -> None:
        started = time.perf_counter()
        try:
            outcome = await self._visitor.visit(key)
            self._after(key, outcome)
        except AwayError as error:
            outcome = "away"
            self._again(key, str(error))
        except FencedError:
            raise
        except Exception:
            # One model that cannot be understood must not stop the others; it is visited again, and counted.
            outcome = "failed"
            log.exception("%s/%s: the visit failed", *key)
            self._again(key, "see above")
        self._metrics.visit(outcome, time.perf_counter() - started)

    def _after(self, key: Key, outcome: str) -> None:
        self._failures.pop(key, None)
        if outcome == STALE:
            self.queue.add(key)
        elif outcome != GONE:
            self.queue.add(key, self._resync_s * random.uniform(0.8, 1.2))  # noqa: S311
            held_s = self._visitor.next_try_s(key)
            if held_s is not None:
                self.queue.add(key, held_s)

    def _again(self, key: Key, why: str) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        pause_s = min(_FIRST_PAUSE_S * 2.0 ** min(failures - 1, 10), _LAST_PAUSE_S) * random.uniform(0.5, 1.0)  # noqa: S311
        log.warning("%s/%s: visited again in %.1f s: %s", *key, pause_s, why)
        self.queue.add(key, pause_s)
