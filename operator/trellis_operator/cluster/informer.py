"""One watch of one kind for all models: a list, then its changes, for ever.

A watch is a hint. A new list replaces what is known, so what was missed is found: on 410, after an error, and every few
minutes in any case.
"""

import asyncio
import logging
import random
import time
from collections.abc import Callable
from typing import Any, Protocol

from trellis_operator.cluster.api import Api
from trellis_operator.cluster.errors import AwayError, RefusedError
from trellis_operator.cluster.metrics import Metrics
from trellis_operator.cluster.pace import Pace
from trellis_operator.desired.names import MANAGED_BY, MANAGER
from trellis_operator.kinds import Kind

Object = dict[str, Any]
log = logging.getLogger(__name__)

_SELECTOR = f"{MANAGED_BY}={MANAGER}"
_PAGE = 500


class Target(Protocol):
    """Who keeps what an informer sees."""

    def replace(self, kind: Kind, namespace: str | None, items: list[Object]) -> None:
        """All objects of the kind."""

    def put(self, kind: Kind, item: Object) -> None:
        """One that is new or changed."""

    def drop(self, kind: Kind, item: Object) -> None:
        """One that is gone."""

    def visit_all(self) -> None:
        """What may be asked for is another: a kind that was refused is not any more."""


class Informer:
    """Follows the objects of one kind that carry our label."""

    def __init__(
        self,
        api: Api,
        kind: Kind,
        namespace: str | None,
        target: Target,
        metrics: Metrics,
        pace: Pace,
    ) -> None:
        self.kind, self.namespace = kind, namespace
        self._api, self._target, self._metrics, self._pace = api, target, metrics, pace
        self._path = kind.path(namespace)
        self._errors = 0
        """Errors that watches told of in a row, with nothing else between."""
        self._doubted = False
        """Whether a list was refused."""
        self.begun = asyncio.Event()
        """Set once the first list was taken in, or is known to be refused."""
        self.refused = False
        """Whether the kind is optional, and instead of a first list we were told twice that it is not for us."""
        self.away = False
        """Whether the API server did not tell when it was asked last: what is known may be old."""

    async def run(self) -> None:
        """Follow until cancelled. No answer of the API server ends it."""
        pause_s = self._pace.first_pause_s
        while True:
            try:
                version = await self._list()
                if not self._errors:
                    pause_s = self._pace.first_pause_s
                why = await self._follow(version)
            except (AwayError, RefusedError) as error:
                self.away = True
                why = "away" if isinstance(error, AwayError) else "error"
                log.warning("watch of %s: %s; next try in %.1f s", self.kind.plural, error, pause_s)
                await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))  # noqa: S311
                pause_s = min(2 * pause_s, self._pace.refused_s if self.refused else self._pace.last_pause_s)
            self._metrics.restart(self.kind.name, why)

    async def _list(self) -> str:
        try:
            version, items = await self._whole()
        except RefusedError:
            # Rights that are taken away later leave what is known as it is: it may be old, and is not gone.
            # What is told once, at the start, may come from a role or a CRD that is being made at this moment.
            self._doubted, doubted = True, self._doubted
            self.refused = self.refused or (self.kind.optional and doubted and not self.begun.is_set())
            if self.refused:
                self.begun.set()
            raise
        was_refused = self.refused
        self.away = self.refused = False
        self._target.replace(self.kind, self.namespace, items)
        self.begun.set()
        if was_refused:
            self._target.visit_all()
        return version

    async def _whole(self) -> tuple[str, list[Object]]:
        """All objects, page by page, and the version that they are of."""
        items: list[Object] = []
        query = {"labelSelector": _SELECTOR, "limit": str(_PAGE)}
        while True:
            page = await self._api.list(self._path, **query)
            items += page["items"]
            following = page["metadata"].get("continue")
            if not following:
                return str(page["metadata"]["resourceVersion"]), items
            query["continue"] = following

    async def _follow(self, version: str) -> str:
        """Watch, and watch on where a watch ends by itself; returns why a new list is needed."""
        relist_at = time.monotonic() + self._pace.relist_s * random.uniform(0.8, 1.2)  # noqa: S311
        while time.monotonic() < relist_at:
            query = {"labelSelector": _SELECTOR, "resourceVersion": version, "allowWatchBookmarks": "true"}
            events = self._api.watch(self._path, self._pace.silence_s, timeoutSeconds=str(self._pace.watch_s), **query)
            async for event in events:
                if event["type"] == "ERROR":
                    return self._why(event["object"])
                self._errors = 0
                version = event["object"]["metadata"]["resourceVersion"]
                self._take(event["type"], event["object"])
        return "relist"

    def _why(self, status: Object) -> str:
        """Why a watch that told of an error needs a new list: at once, if it is the first.

        Raises:
            RefusedError: it is not; a pause is due.
        """
        self._errors += 1
        code = int(status.get("code", 500))
        if self._errors > 1:
            raise RefusedError(code, str(status.get("reason", "")), str(status.get("message", "")))
        return "expired" if code == 410 else "error"

    def _take(self, change: str, item: Object) -> None:
        takers: dict[str, Callable[[Kind, Object], None]] = {
            "ADDED": self._target.put,
            "MODIFIED": self._target.put,
            "DELETED": self._target.drop,
        }
        if change in takers:
            takers[change](self.kind, item)
