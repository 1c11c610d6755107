"""More engines than a gateway is to hold: real gateways share them among each other, and keep enough that answer."""

import asyncio
import re
import sys

import aiohttp
import pytest

pytestmark = pytest.mark.processes

ENGINES, GATEWAYS, BOUND = 24, 3, 16
HELD = "trellis_gateway_endpoints_connected"


class Process:
    """A gateway as a process."""

    def __init__(self, program: asyncio.subprocess.Process, client: aiohttp.ClientSession) -> None:
        self.program = program
        self.client = client
        self.url = ""

    async def listening(self) -> "Process":
        while b'"listening"' not in (line := await self.program.stderr.readline()):
            assert line, "it ended before it listened"
        self.url = "http://" + re.search(r'"address":"(.+?)"', line.decode())[1]
        self.reading = asyncio.create_task(self.program.stderr.read())
        return self

    async def metrics(self) -> dict[str, float]:
        async with self.client.get(f"{self.url}/metrics") as response:
            lines = [line for line in (await response.text()).splitlines() if line[0] != "#"]
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}

    async def held(self) -> dict[int, bool]:
        """Whether each engine that it holds is ready, by port."""
        found = (await self.metrics()).items()
        return {
            int(name[:-2].rpartition(":")[2]): value == 1
            for name, value in found
            if name.startswith("trellis_gateway_endpoint_up{")
        }

    async def embed(self, text: str) -> int:
        async with self.client.post(f"{self.url}/v1/embeddings", json={"model": "minilm", "input": text}) as response:
            return response.status


@pytest.fixture
async def engines(FakeEngine):
    started = [await FakeEngine().start() for _ in range(ENGINES)]
    yield started
    for each in started:
        await each.stop()


@pytest.fixture
async def start(minilm, api_server, service, peers):
    """Starts a gateway that follows both Services."""
    flags = ["serve", "--model", str(minilm), "--served-name", "minilm", "--listen", "127.0.0.1:0"]
    flags += ["--engines-service", str(service), "--gateways-service", str(peers), "--api-server", api_server.url]
    started = []
    async with aiohttp.ClientSession() as client:

        async def one(name: str) -> Process:
            more = [*flags, "--gateway-name", name, "--max-engines", str(BOUND)]
            command = [sys.executable, "-m", "ivy", *more]
            started.append(await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE))
            return await Process(started[-1], client).listening()

        yield one
        for each in started:
            if each.returncode is None:
                each.kill()
                await each.wait()


@pytest.fixture
def tell(api_server, pod, slice_object, peers):
    """Tell which engines and which gateways there are."""

    def put(engines=(), gateways=()) -> None:
        for each in engines:
            api_server.put(slice_object(f"e-{each.port}", pod("127.0.0.1", f"pod-{each.port}"), port=each.port))
        if gateways:
            pods = [pod(f"10.0.0.{number}", str(number)) for number in gateways]
            api_server.put(slice_object("gateways", *pods, port=8080, service=peers))

    return put


async def test_gateways_share_engines_so_that_each_engine_is_held_and_those_that_die_are_replaced_at_once(
    start, engines, tell, api_server, until
):
    tell(engines, range(GATEWAYS))
    processes = await asyncio.gather(*(start(f"name-of-{number}") for number in range(GATEWAYS)))

    async def all_settled() -> bool:
        held = [await each.held() for each in processes]
        known = {(await each.metrics())['trellis_gateway_peers{state="ready"}'] for each in processes}
        return known == {GATEWAYS} and all(sum(each.values()) == len(each) == BOUND for each in held)

    await until(all_settled)
    held = [await each.held() for each in processes]
    assert {port for each in held for port in each} == {each.port for each in engines}
    assert len({frozenset(each) for each in held}) == GATEWAYS, "each has another part"
    assert {(await each.metrics())[HELD] for each in processes} == {BOUND}
    assert (await processes[0].metrics())['trellis_gateway_endpoints{state="ready"}'] == ENGINES
    assert (await processes[0].metrics())['trellis_gateway_peers{state="ready"}'] == GATEWAYS

    # The cluster does not know of it yet: the gateway itself sees who is dead, asks others and takes more.
    first, *rest = dying = [each for each in engines if each.port in held[0]][:6]
    await first.stop()
    assert {await processes[0].embed(f"text {number}") for number in range(40)} == {200}
    for each in rest:
        await each.stop()

    async def refilled() -> bool:
        now = await processes[0].held()
        return sum(now.values()) == BOUND and not any(now[each.port] for each in dying)

    await until(refilled)
    for each in dying:
        api_server.delete(f"e-{each.port}")

    async def forgotten() -> bool:
        now = await processes[0].held()
        return sum(now.values()) == len(now) == BOUND

    await until(forgotten)

    # Two gateways go: the last one must hold all engines that there are.
    tell(gateways=[0])

    async def alone() -> bool:
        return len(await processes[0].held()) == ENGINES - len(dying)

    await until(alone)
    assert {await processes[0].embed(f"text {number}") for number in range(20)} == {200}
