"""A gateway whose engines are those of a Service: they come, go and end while requests run."""

import asyncio
import os

import pytest
from ivy.client.target import Standing, Target
from ivy.config import ApiServer

READY = {"ready": True, "serving": True, "terminating": False}
NOT_READY = {"ready": False, "serving": False, "terminating": False}
TERMINATING = {"ready": False, "serving": True, "terminating": True}


@pytest.fixture
def tell(api_server, pod, slice_object):
    """Tell the cluster's view of an engine; each has a slice of its own, for its port is its own."""

    def put(engine, conditions=READY, uid: str = "") -> None:
        found = pod("127.0.0.1", uid or f"pod-{engine.port}", **conditions)
        api_server.put(slice_object(f"slice-{engine.port}", found, port=engine.port))

    return put


@pytest.fixture
async def gateway(serve, api_server, service):
    """A gateway that follows the Service; it has no engine yet."""
    followed = {"engines": (), "engines_service": service, "api_server": ApiServer(api_server.url)}
    return await serve(ready=False, slow_start_s=0.0, **followed)


def serving(gateway, count: int):
    return lambda: len(gateway.gateway.engines.cards()) == count


def standings(gateway) -> dict[Standing, int]:
    """The port of the engine of each standing, among those that say that they are ready."""
    ready = [each for each in gateway.gateway.engines.endpoints if each.ready]
    return {each.standing: int(each.address.rpartition(":")[2]) for each in ready}


def only(gateway, engine):
    """That this engine is the whole set, and ready."""

    def holds() -> bool:
        endpoints = gateway.gateway.engines.endpoints
        return [(each.address, each.ready) for each in endpoints] == [(f"127.0.0.1:{engine.port}", True)]

    return holds


async def readyz(gateway) -> int:
    async with gateway.client.get(f"{gateway.url}/readyz") as response:
        return response.status


async def embed_some(gateway, count: int = 20) -> set[int]:
    return {answer.status for answer in [await gateway.embed(input=f"text {n}") for n in range(count)]}


async def exposition(gateway) -> str:
    async with gateway.client.get(f"{gateway.url}/metrics") as response:
        return await response.text()


async def test_the_first_engine_makes_a_gateway_ready_and_the_last_one_ends_it(gateway, engine, tell, until):
    assert await readyz(gateway) == 503
    assert (await gateway.embed(input="a")).status == 503
    tell(engine)
    await until(serving(gateway, 1))
    assert await readyz(gateway) == 200
    assert await embed_some(gateway, 1) == {200}
    tell(engine, TERMINATING)
    await until(lambda: gateway.gateway.engines.endpoints[0].standing is Standing.LEAVING)
    await engine.serving(False)
    await until(lambda: not gateway.gateway.engines.endpoints[0].ready)
    # It drains, and is all that there is.
    assert await readyz(gateway) == 200
    assert await embed_some(gateway, 1) == {200}
    await engine.stop()
    assert (await gateway.embed(input="a")).status == 503
    assert await readyz(gateway) == 503


async def test_an_engine_of_another_digest_makes_no_gateway_ready(serve, engine, api_server, service, tell, until):
    followed = {"engines": (), "engines_service": service, "api_server": ApiServer(api_server.url)}
    gateway = await serve(ready=False, model_digest="sha256:other", **followed)
    tell(engine)
    await until(lambda: any(each.ready for each in gateway.gateway.engines.endpoints))
    assert await readyz(gateway) == 503
    engine.digest = "sha256:other"
    await until(serving(gateway, 1))
    assert await readyz(gateway) == 200


async def test_an_engine_that_is_added_gets_work_and_one_that_is_removed_gets_none(
    gateway, engines, api_server, tell, until
):
    tell(engines[0])
    await until(serving(gateway, 1))
    assert await embed_some(gateway) == {200}
    tell(engines[1])
    await until(serving(gateway, 2))
    assert await embed_some(gateway) == {200}
    assert engines[1].calls
    api_server.delete(f"slice-{engines[0].port}")
    await until(serving(gateway, 1))
    before = len(engines[0].calls)
    assert await embed_some(gateway) == {200}
    assert len(engines[0].calls) == before


async def test_an_engine_that_terminates_gets_nothing_new_and_answers_what_it_has(
    gateway, engines, api_server, tell, until
):
    leaving, staying = engines
    tell(leaving)
    await until(serving(gateway, 1))
    leaving.gate.clear()
    call = asyncio.create_task(gateway.embed(input="a"))
    await until(lambda: leaving.waiting == 1)
    tell(leaving, TERMINATING)
    tell(staying)
    wanted = {Standing.LEAVING: leaving.port, Standing.READY: staying.port}
    await until(lambda: standings(gateway) == wanted)
    assert await embed_some(gateway) == {200}
    assert len(staying.calls) == 20
    leaving.gate.set()
    assert (await call).status == 200


async def test_a_call_to_an_engine_that_leaves_is_answered_and_then_nothing_of_it_is_left(
    gateway, engines, api_server, tell, until
):
    leaving, staying = engines
    tell(leaving)
    await until(serving(gateway, 1))
    label = f'engine="127.0.0.1:{leaving.port}"'
    assert label in await exposition(gateway)
    assert await embed_some(gateway, 1) == {200}
    assert await gateway.metric(f"trellis_gateway_endpoint_tokens_total{{{label}}}") == 4
    leaving.gate.clear()
    call = asyncio.create_task(gateway.embed(input="a"))
    await until(lambda: leaving.waiting == 1)
    tell(staying)
    api_server.delete(f"slice-{leaving.port}")
    await until(only(gateway, staying))
    assert label not in await exposition(gateway)
    assert await embed_some(gateway) == {200}
    assert (leaving.waiting, leaving.cancelled, len(leaving.calls)) == (1, 0, 2)
    # Nobody looks at it any more, while the other one is looked at twice.
    looks, until_looks = leaving.looks, staying.looks + 2
    await until(lambda: staying.looks >= until_looks)
    assert leaving.looks == looks
    leaving.gate.set()
    assert (await call).status == 200
    await until(lambda: not gateway.gateway.engines.leaving)
    assert label not in await exposition(gateway)


async def test_a_call_that_fails_on_an_engine_that_has_left_brings_nothing_of_it_back(
    gateway, engines, api_server, tell, until
):
    leaving, staying = engines
    tell(leaving)
    await until(serving(gateway, 1))
    leaving.gate.clear()
    call = asyncio.create_task(gateway.embed(input="a"))
    await until(lambda: leaving.waiting == 1)
    tell(staying)
    api_server.delete(f"slice-{leaving.port}")
    await until(only(gateway, staying))
    await leaving.stop()
    assert (await call).status == 200
    assert len(staying.calls) == 1
    assert f"127.0.0.1:{leaving.port}" not in await exposition(gateway)


async def test_an_engine_that_the_cluster_calls_unready_is_asked_only_when_no_other_can_answer(
    gateway, engines, tell, until
):
    tell(engines[0])
    tell(engines[1], NOT_READY)
    await until(lambda: sum(each.ready for each in gateway.gateway.engines.endpoints) == 2)
    assert await embed_some(gateway) == {200}
    assert not engines[1].calls
    # A cluster that lost sight of its nodes calls all of their pods unready; the engines know better.
    tell(engines[0], NOT_READY)
    await until(serving(gateway, 2))
    assert await embed_some(gateway) == {200}
    assert engines[1].calls
    tell(engines[1])
    await until(serving(gateway, 1))
    before = len(engines[0].calls)
    assert await embed_some(gateway) == {200}
    assert len(engines[0].calls) == before


async def test_a_new_pod_at_the_address_of_an_old_one_is_a_new_engine(gateway, engine, tell, until, FakeEngine):
    tell(engine, uid="old")
    await until(serving(gateway, 1))
    await engine.stop()
    assert (await gateway.embed(input="a")).status == 503
    again = await FakeEngine(port=engine.port).start()
    tell(engine, uid="new")
    await until(serving(gateway, 1))
    assert await embed_some(gateway) == {200}
    assert len(again.calls) == 20
    assert f'endpoint_up{{engine="127.0.0.1:{engine.port}"}} 1' in await exposition(gateway)
    await again.stop()


async def test_while_the_api_server_is_away_requests_are_answered(gateway, engines, api_server, tell, until):
    for engine in engines:
        tell(engine)
    await until(serving(gateway, 2))
    await api_server.down()
    assert await embed_some(gateway) == {200}
    await engines[0].stop()
    assert await embed_some(gateway) == {200}
    assert await readyz(gateway) == 200
    age = await gateway.metric("trellis_gateway_sync_age_seconds")
    assert age > 0


async def test_a_gateway_that_starts_while_the_api_server_is_away_becomes_ready_when_it_is_back(
    serve, engine, api_server, service, tell, until
):
    await api_server.down()
    followed = {"engines": (), "engines_service": service, "api_server": ApiServer(api_server.url)}
    gateway = await serve(ready=False, **followed)
    assert await readyz(gateway) == 503
    tell(engine)
    await api_server.up()
    await until(serving(gateway, 1))
    assert await readyz(gateway) == 200


async def test_engines_that_are_replaced_one_by_one_under_load_lose_no_request(
    gateway, api_server, tell, until, FakeEngine
):
    running = [await FakeEngine().start() for _ in range(2)]
    for each in running:
        tell(each)
    await until(serving(gateway, 2))
    statuses, done = [], asyncio.Event()

    async def load() -> None:
        while not done.is_set():
            statuses.append((await gateway.embed(input="some text")).status)

    callers = [asyncio.create_task(load()) for _ in range(4)]
    for _ in range(4):
        new = await FakeEngine().start()
        tell(new)
        await until(lambda new=new: len(new.calls) > 0)
        old = running.pop(0)
        tell(old, TERMINATING)
        gone = (f"127.0.0.1:{old.port}", Standing.LEAVING)
        await until(
            lambda gone=gone: gone in {(each.address, each.standing) for each in gateway.gateway.engines.endpoints}
        )
        await until(lambda old=old: old.waiting == 0)
        await old.stop()
        api_server.delete(f"slice-{old.port}")
        running.append(new)
    done.set()
    await asyncio.gather(*callers)
    assert set(statuses) == {200}
    for each in running:
        await each.stop()


async def test_engines_that_came_and_went_leave_no_task_and_no_open_file(gateway, engine, tell, until):
    tell(engine)
    await until(serving(gateway, 1))
    assert await embed_some(gateway, 1) == {200}
    steady = [Target(f"127.0.0.1:{engine.port}", f"pod-{engine.port}")]

    async def replaced(times: int) -> None:
        """The same engine comes and goes as another pod, beside one that nobody answers for."""
        for number in range(times):
            more = [Target(f"127.0.0.1:{engine.port}", f"other-{number}"), Target("127.0.0.1:1", str(number))]
            gateway.gateway.engines.replace(steady + more)
            await until(lambda: sum(each.ready for each in gateway.gateway.engines.endpoints) == 2)
            gateway.gateway.engines.replace(steady)
        await until(lambda: not gateway.gateway.engines.leaving)

    def left() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(asyncio.all_tasks())

    await replaced(3)
    files, tasks = left()
    await replaced(20)
    await until(lambda: left()[0] <= files + 2 and left()[1] <= tasks + 2)
