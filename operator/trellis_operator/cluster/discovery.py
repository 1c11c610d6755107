"""Which optional kinds the API server knows, asked every few minutes: a CRD may come, and go, at any time."""

import asyncio
import logging
from collections.abc import Callable

from trellis_operator.cluster.api import Api
from trellis_operator.cluster.errors import AwayError, RefusedError
from trellis_operator.kinds import CHILDREN, Kind

log = logging.getLogger(__name__)

_AGAIN_S = 120.0
OPTIONAL = tuple(kind for kind in CHILDREN if kind.optional)


class Discovery:
    """The optional kinds that are served."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self.served: frozenset[str] = frozenset()

    async def look(self) -> bool:
        """Ask once; returns whether the answer differs from the last one."""
        found = frozenset([kind.name for kind in OPTIONAL if await self._is_served(kind)])
        differs, self.served = found != self.served, found
        return differs

    async def run(self, on_change: Callable[[], None]) -> None:
        """Ask again and again."""
        while True:
            await asyncio.sleep(_AGAIN_S)
            try:
                if await self.look():
                    log.info("optional kinds that are served now: %s", ", ".join(sorted(self.served)) or "none")
                    on_change()
            except (AwayError, RefusedError) as error:
                log.warning("the kinds of the API server cannot be asked for: %s", error)

    async def _is_served(self, kind: Kind) -> bool:
        group = await self._api.get(f"/apis/{kind.api_version}")
        return group is not None and any(each["name"] == kind.plural for each in group["resources"])
