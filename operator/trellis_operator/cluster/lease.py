"""The Lease: at most one operator writes. Others wait, and take over when it is not renewed.

The fence opens for less than the Lease lasts, counted from before a renewal was sent. Others count from when they saw
it, which is later. So this process is fenced off before anybody else may begin, whatever became of it meanwhile.
"""

import asyncio
import datetime
import logging
from typing import Any

from trellis_operator.cluster.api import Api
from trellis_operator.cluster.errors import AwayError, RefusedError
from trellis_operator.cluster.fence import Fence, FencedError, now_s
from trellis_operator.kinds import LEASE

Object = dict[str, Any]
log = logging.getLogger(__name__)

NAME = "trellis-operator"
LEASE_S = 15
_FENCE_S = 10.0
_RENEW_S = 4.0
_WATCH_S = 2.0
_TAKEN = (404, 409)
"""Somebody has written the Lease, or taken it away. Whatever else is refused is asked for again while it lasts."""


class LeadershipLostError(FencedError):
    """Another operator may have taken over; this process must end."""


class Leadership:
    """One candidate for the Lease.

    Its calls go around the fence: they are what opens it, and a version in each makes a late one fail.
    """

    def __init__(self, api: Api, namespace: str, identity: str, fence: Fence) -> None:
        self._api, self._namespace, self._identity, self._fence = api, namespace, identity, fence
        self._path = LEASE.path(namespace, NAME)
        self._lease: Object = {}

    async def acquire(self) -> None:
        """Wait until the Lease is ours."""
        seen: tuple[object, float] = (None, now_s())
        while True:
            try:
                lease = await self._api.get(self._path)
                version = lease["metadata"]["resourceVersion"] if lease else ""
                if version != seen[0]:
                    seen = (version, now_s())
                if lease is None or self._is_free(lease) or now_s() - seen[1] > _duration_s(lease):
                    await self._take(lease)
                    log.info("this is the leader now: %s", self._identity)
                    return
            except (AwayError, RefusedError) as error:
                log.warning("the Lease %s/%s cannot be had: %s", self._namespace, NAME, error)
            await asyncio.sleep(_WATCH_S)

    async def hold(self) -> None:
        """Renew for ever.

        Raises:
            LeadershipLostError: it could not be renewed in time, or another one has it.
        """
        while True:
            await asyncio.sleep(_RENEW_S)
            if self._fence.left_s() <= 0:
                raise LeadershipLostError("the Lease was not renewed in time")
            try:
                await self._renew()
            except (AwayError, RefusedError) as error:
                log.warning("the Lease was not renewed: %s", error)

    async def release(self) -> None:
        """Give it back, so that the next one need not wait."""
        if self._fence.left_s() > 0:
            self._fence.open_until(0.0)
            self._lease["spec"] = self._lease["spec"] | {"holderIdentity": ""}
            try:
                await self._api.replace(self._path, self._lease)
            except (AwayError, RefusedError) as error:
                log.info("the Lease was not given back: %s", error)

    async def _renew(self) -> None:
        """Renew; what another one wrote, or ourselves in a renewal whose answer was lost, is taken in first.

        Only a renewal that is answered opens the fence: others count from the version that they saw last.
        """
        try:
            await self._take(self._lease)
        except RefusedError as error:
            if error.code not in _TAKEN:
                raise
            lease = await self._api.get(self._path)
            if lease is None or _holder(lease) != self._identity:
                raise LeadershipLostError(f"the Lease is another's: {error}") from error
            await self._take(lease)

    def _is_free(self, lease: Object) -> bool:
        """Whether nobody has it but us, who may have taken it in a call whose answer was lost."""
        return _holder(lease) in ("", self._identity)

    async def _take(self, lease: Object | None) -> None:
        started = now_s()
        if lease is None:
            self._lease = await self._api.create(LEASE.path(self._namespace), self._body({}, {}))
        else:
            body = self._body(lease["metadata"], lease.get("spec", {}))
            self._lease = await self._api.replace(self._path, body)
        self._fence.open_until(started + _FENCE_S)

    def _body(self, metadata: Object, spec: Object) -> Object:
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        mine = spec.get("holderIdentity") == self._identity
        return {
            "apiVersion": LEASE.api_version,
            "kind": LEASE.name,
            "metadata": {"name": NAME, "namespace": self._namespace, **metadata},
            "spec": {
                "holderIdentity": self._identity,
                "leaseDurationSeconds": LEASE_S,
                "acquireTime": spec.get("acquireTime", now) if mine else now,
                "renewTime": now,
                "leaseTransitions": spec.get("leaseTransitions", 0) + (0 if mine or not spec else 1),
            },
        }


def _holder(lease: Object) -> str:
    return str(lease.get("spec", {}).get("holderIdentity") or "")


def _duration_s(lease: Object) -> float:
    return float(lease.get("spec", {}).get("leaseDurationSeconds") or LEASE_S)
