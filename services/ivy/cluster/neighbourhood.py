"""`Neighbourhood`: follows the engines, and the other gateways too as soon as there are more engines than one holds."""

import asyncio
from collections.abc import Callable

from ivy.client.nearby import Nearby
from ivy.cluster.follower import Follower


class Neighbourhood:
    """Tells a `Nearby` what the cluster says."""

    def __init__(self, nearby: Nearby, of_engines: Follower, of_gateways: Callable[[], Follower] | None) -> None:
        """`of_gateways` begins to follow the gateways; None: nobody said which these are."""
        self._of_engines = of_engines
        self._of_gateways = of_gateways
        self._exceeded = asyncio.Event()
        nearby.exceeded = self._exceeded.set

    async def run(self) -> None:
        """Follow until cancelled."""
        async with asyncio.TaskGroup() as both:
            both.create_task(self._of_engines.run())
            await self._exceeded.wait()
            if self._of_gateways is not None:
                both.create_task(self._of_gateways().run())
