"""The life of the operator process: connect, lead, observe, work, stop. Thin: it only puts the parts together."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import uuid
from collections.abc import Coroutine
from typing import Any

from aiohttp import web
from kubernetes.aio.client import ApiClient

from trellis_operator.cluster import logs
from trellis_operator.cluster.api import Api
from trellis_operator.cluster.capacity import Capacity
from trellis_operator.cluster.config import OperatorConfig
from trellis_operator.cluster.connect import connect
from trellis_operator.cluster.discovery import Discovery
from trellis_operator.cluster.errors import AwayError, RefusedError
from trellis_operator.cluster.events import Events
from trellis_operator.cluster.executor import Executor
from trellis_operator.cluster.fence import Fence
from trellis_operator.cluster.informers import Informers
from trellis_operator.cluster.kopf_handlers import ModelWatch
from trellis_operator.cluster.lease import Leadership
from trellis_operator.cluster.metrics import Metrics
from trellis_operator.cluster.models import Models
from trellis_operator.cluster.pace import Pace
from trellis_operator.cluster.reconciler import Reconciler
from trellis_operator.cluster.server import serve_health, serve_metrics
from trellis_operator.cluster.store import Store
from trellis_operator.cluster.visit import Visitor
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.errors import OperatorError

log = logging.getLogger(__name__)

_HUNG_S = 600.0
"""A model that waits longer than this although its time has come means that no worker moves."""
_ASK_AGAIN_S = 2.0


def run_operator(config: OperatorConfig, pace: Pace) -> None:
    """Look after models until SIGTERM or SIGINT.

    Raises:
        OperatorError: it cannot begin, or may not go on; the process is to be started again.
    """
    logs.set_up(config.log_level, config.log_format)
    asyncio.run(_run(config, pace))


async def _run(config: OperatorConfig, pace: Pace) -> None:
    client = await connect()
    operator = Operator(config, client, pace)
    stopped = asyncio.create_task(_signalled())
    leading = asyncio.create_task(operator.run())
    try:
        await asyncio.wait({stopped, leading}, return_when=asyncio.FIRST_COMPLETED)
        if leading.done():
            leading.result()
    finally:
        for task in (leading, stopped):
            task.cancel()
        await asyncio.gather(leading, stopped, return_exceptions=True)
        await operator.stop()
        await client.close()  # type: ignore[no-untyped-call]
        log.info("stopped")


class Operator:
    """One process: its parts, and how long each of them lives."""

    def __init__(self, config: OperatorConfig, client: ApiClient, pace: Pace) -> None:
        self._config = config
        self._metrics = Metrics()
        self._fence = Fence() if config.leader_election else Fence.always_open()
        self._metrics.is_leader.set_function(lambda: float(self._fence.left_s() > 0))
        identity = f"{os.environ.get('HOSTNAME') or socket.gethostname()}_{uuid.uuid4().hex[:8]}"
        around = Api(client, Fence.always_open(), self._metrics)
        self._leadership = Leadership(around, config.lease_namespace, identity, self._fence)
        self._api = Api(client, self._fence, self._metrics)
        self._discovery = Discovery(self._api)
        self._reconciler = self._build(identity)
        self._informers = Informers(self._api, config.namespaces, self._reconciler, self._metrics, pace)
        self._models = ModelWatch(config.namespaces, self._reconciler.model_changed, self._metrics, pace)
        self._servers: list[web.AppRunner] = []

    async def run(self) -> None:
        """Lead and work for ever.

        Raises:
            OperatorError: a port is taken, or the Lease is lost.
        """
        health, metrics = self._config.listen_health, self._config.listen_metrics
        self._servers.append(await serve_health(health.host, health.port, self._hung, self._idle))
        self._servers.append(await serve_metrics(metrics.host, metrics.port, self._metrics))
        if not self._config.leader_election:
            await self._lead()
            return
        await self._leadership.acquire()
        await _first_to_end([self._leadership.hold(), self._lead()])

    async def stop(self) -> None:
        """Give the Lease back and close the listeners."""
        if self._config.leader_election:
            await self._leadership.release()
        for server in self._servers:
            await server.cleanup()

    def _build(self, identity: str) -> Reconciler:
        store, models = Store(), Models()
        visitor = Visitor(
            api=self._api,
            store=store,
            models=models,
            setting=self._setting,
            unseen=lambda: self._informers.away,
            capacity=Capacity(self._api),
            executor=Executor(self._api, store, self._metrics),
            events=Events(self._api, identity),
        )
        return Reconciler(visitor, models, store, self._metrics, self._config.resync_s)

    def _setting(self, namespace: str) -> ClusterSetting:
        config = self._config
        return ClusterSetting(
            engine_image=config.engine_image,
            gateway_image=config.gateway_image,
            fetch_image=config.fetch_image,
            fetch_env=config.fetch_env,
            operator_namespace=config.lease_namespace,
            pull_policy=config.image_pull_policy,
            image_volumes=config.image_volumes,
            prometheus_url=config.prometheus_url,
            prometheus_authentication=config.prometheus_authentication,
            served=self._discovery.served - self._informers.refused_in(namespace),
        )

    async def _lead(self) -> None:
        """Observe first, then work: a visit that does not know what is there would take all of it for absent."""
        await self._look_until_answered()
        self._informers.follow(self._discovery.served)
        await _first_to_end([self._informers.run(), self._work()])

    async def _work(self) -> None:
        await self._informers.wait_begun()
        log.info("children are known; following EmbeddingModels")
        workers = [self._reconciler.work() for _ in range(self._config.workers)]
        await _first_to_end([self._models.run(), self._discovery.run(self._kinds_changed), *workers])

    async def _look_until_answered(self) -> None:
        while True:
            try:
                await self._discovery.look()
                return
            except (AwayError, RefusedError) as error:
                log.warning("the API server does not answer: %s", error)
                await asyncio.sleep(_ASK_AGAIN_S)

    def _kinds_changed(self) -> None:
        self._informers.follow(self._discovery.served)
        self._reconciler.visit_all()

    def _hung(self) -> str | None:
        waited_s = self._reconciler.queue.oldest_s()
        return f"a model waits for {waited_s:.0f} s" if waited_s > _HUNG_S else None

    def _idle(self) -> str | None:
        if self._informers.begun:
            return None
        unseen = ", ".join(self._informers.away)
        return f"children are not known yet: {unseen}" if unseen else "not the leader, or children are not known yet"


async def _first_to_end(parts: list[Coroutine[Any, Any, None]]) -> None:
    """Run parts until one of them ends or raises; then all end."""
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        with contextlib.suppress(OperatorError):
            await asyncio.gather(*tasks, return_exceptions=True)


async def _signalled() -> None:
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    await told.wait()
    log.info("stopping")
