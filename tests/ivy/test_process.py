"""The gateway as the process that users start: flags, refusals, the end of its life."""

import asyncio
import re
import signal
import socket
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

pytestmark = pytest.mark.processes


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "ivy", *arguments], capture_output=True, text=True, timeout=60)


@pytest.fixture
def flags(minilm, engine):
    return [
        *("serve", "--model", str(minilm), "--served-name", "minilm"),
        *("--engines", f"127.0.0.1:{engine.port}", "--listen", "127.0.0.1:0"),
    ]


@asynccontextmanager
async def started(flags, *more):
    """The process, and the URL that it says it listens on."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "ivy", *flags, *more, stderr=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(60):
            while b'"listening"' not in (line := await process.stderr.readline()):
                assert line, "it ended before it listened"
        yield process, "http://" + re.search(r'"address":"(.+?)"', line.decode())[1]
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def become_ready(client: aiohttp.ClientSession, url: str, until) -> None:
    async def ready() -> bool:
        async with client.get(f"{url}/readyz") as response:
            return response.status == 200

    await until(ready)


def test_help_has_a_sentence_for_every_flag():
    text = run("serve", "--help").stdout
    flags = set(re.findall(r"^  (--[a-z-]+)", text, re.MULTILINE))
    assert len(flags) == 30
    for flag in flags:
        assert re.search(rf"^  {flag}\b[^\n]*\n? +[A-Z]", text, re.MULTILINE), flag


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (["--engines", "nowhere"], "--engines: 'nowhere' is not HOST:PORT"),
        (["--engines", "a:1,a:1"], "--engines: an address stands there twice"),
        (["--engines", "a:0"], "--engines: a:0 has port 0"),
        (["--listen", "x:99999"], "--listen: 'x:99999' is not HOST:PORT"),
        (["--model", "no/such/folder"], "--model: no/such/folder is not a folder"),
        (["--api-keys-file", "no/such/file"], "--api-keys-file: no/such/file: No such file"),
        (["--embedding", "no/such/file"], "no/such/file: No such file"),
        (["--max-inputs", "0"], "--max-inputs: 0 is below 1"),
        (["--retry-budget-percent", "nan"], "--retry-budget-percent: nan is not between"),
        (["--request-timeout-seconds", "0"], "--request-timeout-seconds: 0 leaves no time"),
        (["--served-name", " "], "--served-name: ' ' is not a name"),
        (["--trace-endpoint", "collector:4317"], "--trace-endpoint: 'collector:4317' is not http://HOST:PORT"),
        (["--trace-sample-percent", "101"], "--trace-sample-percent: 101.0 is not between 0 and 100"),
    ],
)
def test_a_bad_flag_is_one_line_and_exit_code_2(flags, changed, said):
    ended = run(*flags, *changed)
    assert ended.returncode == 2
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"poolin": "cls"}', "unknown field 'poolin'"),
        ('{"truncation": "middle"}', "truncation 'middle' is not one of error, end, start"),
        ('{"prompts": {"a": 1}}', "prompts is not an object of names and texts"),
        ('{"prompts": {"a": "b"}, "defaultPrompt": "c"}', "the default prompt 'c' is none of the model's prompts: a"),
        ("[]", "not a JSON object"),
        ("{", "not JSON"),
    ],
)
def test_a_bad_embedding_file_is_one_line_and_exit_code_2(flags, tmp_path, content, said):
    (tmp_path / "embedding.json").write_text(content)
    ended = run(*flags, "--embedding", str(tmp_path / "embedding.json"))
    assert ended.returncode == 2
    assert said in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("content", ["", "# nothing\n\n", "two words\n", "schlüssel\n"])
def test_a_file_without_a_usable_key_is_refused_and_not_shown(flags, tmp_path, content):
    (tmp_path / "keys").write_text(content)
    ended = run(*flags, "--api-keys-file", str(tmp_path / "keys"))
    assert ended.returncode == 2
    assert "two words" not in ended.stderr


def test_a_folder_without_a_tokenizer_is_one_line_and_exit_code_2(flags, tmp_path):
    ended = run(*flags, "--model", str(tmp_path))
    assert ended.returncode == 2
    assert f"{tmp_path}/tokenizer.json is missing" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_taken_port_is_one_line_and_exit_code_2(flags):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = run(*flags, "--listen", f"127.0.0.1:{taken.getsockname()[1]}")
    assert ended.returncode == 2
    assert "in use" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_under_load_answers_all_that_was_accepted(flags, engine, until, number):
    async with (
        started(flags) as (process, url),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client,
    ):
        await become_ready(client, url, until)
        engine.gate.clear()

        async def embed(text: str) -> tuple[int, int]:
            async with client.post(f"{url}/v1/embeddings", json={"model": "minilm", "input": text}) as response:
                return response.status, len((await response.json())["data"])

        calls = [asyncio.create_task(embed(f"text {number}")) for number in range(100)]
        await until(lambda: engine.waiting == 100)
        process.send_signal(number)
        while b'"draining"' not in await process.stderr.readline():
            assert process.returncode is None
        with pytest.raises(aiohttp.ClientConnectorError):
            await until_refused(url)
        engine.gate.set()
        assert await asyncio.gather(*calls) == [(200, 1)] * 100
        async with asyncio.timeout(20):
            assert await process.wait() == 0


async def test_what_outlives_the_drain_timeout_is_given_up_and_the_process_ends(flags, engine, until):
    async with started(flags, "--drain-timeout-seconds", "0.2") as (process, url), aiohttp.ClientSession() as client:
        await become_ready(client, url, until)
        engine.gate.clear()
        call = asyncio.create_task(client.post(f"{url}/v1/embeddings", json={"model": "minilm", "input": "a"}))
        await until(lambda: engine.waiting == 1)
        process.send_signal(signal.SIGTERM)
        while b'"gave up on requests"' not in (line := await process.stderr.readline()):
            assert line, "it ended without a word"
        with pytest.raises(aiohttp.ClientError):
            await call
        async with asyncio.timeout(20):
            assert await process.wait() == 0


async def until_refused(url: str) -> None:
    """Open connections until one is refused, which is what it raises."""
    async with asyncio.timeout(20):
        while True:
            async with aiohttp.ClientSession() as client, client.get(f"{url}/readyz") as response:
                assert response.status == 503


async def test_while_the_drain_delay_lasts_new_work_is_taken_and_readiness_is_off(flags, engine, until):
    async with started(flags, "--drain-delay-seconds", "2") as (process, url), aiohttp.ClientSession() as client:
        await become_ready(client, url, until)
        process.send_signal(signal.SIGTERM)
        while b'"draining"' not in await process.stderr.readline():
            assert process.returncode is None
        async with client.get(f"{url}/readyz") as response:
            assert response.status == 503
        async with client.post(f"{url}/v1/embeddings", json={"model": "minilm", "input": "a"}) as response:
            assert response.status == 200
            assert response.headers["connection"] == "close"
        async with asyncio.timeout(20):
            assert await process.wait() == 0


async def test_the_process_never_imports_torch_and_stays_small(flags, engine, until):
    async with started(flags) as (process, url), aiohttp.ClientSession() as client:
        await become_ready(client, url, until)
        for number in range(20):
            async with client.post(f"{url}/v1/embeddings", json={"model": "minilm", "input": [f"a {number}"] * 64}):
                pass
        own = Path(f"/proc/{process.pid}")
        assert "libtorch" not in (own / "maps").read_text()
        status = (own / "status").read_text()
        resident_kib = int(re.search(r"VmRSS:\s+(\d+)", status)[1])
        assert resident_kib < 120 * 1024
