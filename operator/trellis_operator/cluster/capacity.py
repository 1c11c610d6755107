"""Looks for free accelerators when a rollout asks: two lists, shared by all who ask within a few seconds."""

import asyncio
import logging
import time
from typing import Any

from trellis_operator.cluster.api import Api
from trellis_operator.cluster.errors import RefusedError
from trellis_operator.kinds import NODE, POD
from trellis_operator.plan.capacity import Room, room
from trellis_operator.spec import EmbeddingModel

Object = dict[str, Any]
log = logging.getLogger(__name__)

_KEPT_S = 3.0


class Capacity:
    """Nodes and the pods that run on them."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._lock = asyncio.Lock()
        self._seen: tuple[float, list[Object], list[Object]] | None = None

    async def room(self, model: EmbeddingModel) -> Room | None:
        """What there is for engines of the model now; None where the operator may not look."""
        async with self._lock:
            if self._seen is None or time.monotonic() - self._seen[0] > _KEPT_S:
                try:
                    self._seen = (time.monotonic(), *await self._look())
                except RefusedError as error:
                    log.info("free accelerators are not known, a rollout tries one more first: %s", error)
                    return None
        return room(model, self._seen[1], self._seen[2])

    async def _look(self) -> tuple[list[Object], list[Object]]:
        nodes = await self._api.list(NODE.path())
        running = "spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed"
        pods = await self._api.list(POD.path(), fieldSelector=running)
        return nodes["items"], pods["items"]
