"""The gateway as a process that follows a Service: flags, and the end of its life."""

import asyncio
import re
import signal
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest

pytestmark = pytest.mark.processes


@pytest.fixture
def flags(minilm):
    return ["serve", "--model", str(minilm), "--served-name", "minilm", "--listen", "127.0.0.1:0"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "one of the arguments --engines --engines-service is required"),
        (["--engines", "a:1", "--engines-service", "a/b"], "not allowed with argument --engines"),
        (["--engines", "a:1", "--api-server", "http://a"], "--api-server is for --engines-service"),
        (["--engines", "a:1", "--gateways-service", "a/b"], "--gateways-service is for --engines-service"),
        (["--engines-service", "a/b", "--gateways-service", "c"], "--gateways-service: 'c' is not NAMESPACE/NAME"),
        (["--engines", "a:1", "--max-engines", "0"], "--max-engines: 0 is below 1"),
        (["--engines-service", "minilm"], "--engines-service: 'minilm' is not NAMESPACE/NAME"),
        (["--engines-service", "a/b"], "--engines-service: this runs in no pod of a cluster"),
        (["--engines-service", "a/b", "--api-server", "a"], "--api-server: 'a' is not http(s)://HOST:PORT"),
        (["--engines", "a:1", "--slow-start-seconds", "-1"], "--slow-start-seconds: -1.0 is not between 0 and 3600"),
    ],
)
def test_flags_that_cannot_work_are_refused_with_exit_code_2(flags, more, said):
    ended = subprocess.run([sys.executable, "-m", "ivy", *flags, *more], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert said in ended.stderr.splitlines()[-1]


async def start(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(sys.executable, "-m", "ivy", *arguments, stderr=asyncio.subprocess.PIPE)


@pytest.mark.parametrize("is_away", [False, True])
async def test_a_gateway_that_follows_a_service_serves_and_ends_well_also_without_the_api_server(
    flags, engine, api_server, service, pod, slice_object, until, is_away
):
    api_server.put(slice_object("a", pod("127.0.0.1"), port=engine.port))
    process = await start(*flags, "--engines-service", str(service), "--api-server", api_server.url)
    try:
        while b'"listening"' not in (line := await process.stderr.readline()):
            assert line, "it ended before it listened"
        url = "http://" + re.search(r'"address":"(.+?)"', line.decode())[1]
        async with aiohttp.ClientSession() as client:

            async def answered() -> bool:
                async with client.post(f"{url}/v1/embeddings", json={"model": "minilm", "input": "a"}) as response:
                    return response.status == 200

            await until(answered)
            if is_away:
                await api_server.down()
                assert await answered()
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(20):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def catches_sigterm(process: asyncio.subprocess.Process) -> bool:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return bool(int(re.search(r"SigCgt:\s+([0-9a-f]+)", status)[1], 16) >> (signal.SIGTERM - 1) & 1)


async def test_a_signal_that_comes_before_the_gateway_listens_ends_it_well(flags, until):
    process = await start(*flags, "--engines", "127.0.0.1:1")
    await until(lambda: catches_sigterm(process))
    process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(20):
        assert await process.wait() == 0
    assert b"Traceback" not in await process.stderr.read()
