"""The operator as a whole before an API server that answers what cannot be understood: it ends, and says why."""

import argparse
import asyncio
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from kubernetes.aio.client import ApiClient, Configuration
from trellis_operator.cluster.flags import add_run_flags, operator_config
from trellis_operator.cluster.pace import Pace
from trellis_operator.cluster.run import Operator

IMAGES = ["--engine-image", "e", "--gateway-image", "g", "--fetch-image", "f"]
LISTEN = ["--listen-health", "127.0.0.1:0", "--listen-metrics", "127.0.0.1:0"]
ALONE = "--no-leader-election"


@pytest.fixture
async def operator() -> AsyncIterator[Operator]:
    """Before a server that knows no optional kind, and whose lists have no items."""

    async def answer(request: web.Request) -> web.Response:
        return web.json_response({"metadata": {"resourceVersion": "1"}, "resources": []})

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    client = ApiClient(Configuration(host=f"http://127.0.0.1:{runner.addresses[0][1]}"))
    parser = argparse.ArgumentParser()
    add_run_flags(parser)
    operator = Operator(operator_config(parser.parse_args([*IMAGES, *LISTEN, ALONE])), client, Pace())
    yield operator
    await operator.stop()
    await client.close()
    await runner.cleanup()


async def test_a_fault_before_the_first_list_of_children_ends_the_operator(operator: Operator) -> None:
    async with asyncio.timeout(10):
        with pytest.raises(KeyError, match="items"):
            await operator.run()
