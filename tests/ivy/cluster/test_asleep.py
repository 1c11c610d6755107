"""A gateway that lets requests wait, whose Service has no engine: the cluster says so, or has not said anything yet."""

import asyncio

import pytest
from ivy.config import ApiServer


@pytest.fixture
def start(serve, api_server, service):
    """Starts a gateway that follows the Service and holds requests."""

    async def start():
        followed = {"engines": (), "engines_service": service, "api_server": ApiServer(api_server.url)}
        return await serve(ready=False, hold_s=30.0, **followed)

    return start


async def readyz(gateway) -> int:
    async with gateway.client.get(f"{gateway.url}/readyz") as response:
        return response.status


async def test_it_is_ready_once_it_knows_that_there_is_no_engine(start, api_server, until):
    api_server.list_status = 500
    gateway = await start()
    await until(lambda: len(api_server.asked) > 0)
    assert await readyz(gateway) == 503
    api_server.list_status = 200
    await until(lambda: gateway.gateway.engines.is_told)
    assert await readyz(gateway) == 200


async def test_a_request_gets_its_answer_from_the_first_engine_that_says_that_it_serves(
    start, api_server, engine, until, pod, slice_object
):
    gateway = await start()
    call = asyncio.create_task(gateway.embed(input="a"))
    await until(lambda: gateway.gateway.engines.is_told)
    await engine.serving(False)
    starting = pod("127.0.0.1", "pod-1", ready=False, serving=False, terminating=False)
    api_server.put(slice_object("one", starting, port=engine.port))
    await until(lambda: engine.looks + len(gateway.gateway.engines.endpoints) > 0)
    assert not call.done()
    assert await readyz(gateway) == 200
    await engine.serving(True)
    assert (await call).status == 200
