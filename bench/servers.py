"""The servers that are measured over HTTP, as they are started, asked and weighed."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.infinity import install
from bench.models import minilm

_READY_TIMEOUT_S = 180.0
_ASK_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        name: in tables.
        url: of its embeddings route.
        pids: of its processes, by what each of them is.
    """

    name: str
    url: str
    pids: dict[str, int]

    def body(self, texts: Sequence[str]) -> str:
        """A request in JSON, for vectors as the openai clients ask for them."""
        return json.dumps({"model": "minilm", "input": list(texts), "encoding_format": "base64"})

    def ask(self, texts: Sequence[str]) -> list[str]:
        """The vectors of some texts, in base64.

        Raises:
            OSError: no answer, or one that is not 200.
        """
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(self.url, self.body(texts).encode(), headers)
        with urllib.request.urlopen(request, timeout=_ASK_TIMEOUT_S) as response:
            answer: dict[str, Any] = json.load(response)
        return [each["embedding"] for each in answer["data"]]

    def resident_mib(self) -> dict[str, float]:
        """MiB of each of its processes, by what the process is."""
        return {role: psutil.Process(pid).memory_info().rss / 2**20 for role, pid in self.pids.items()}


@contextmanager
def trellis(
    threads: int, dtype: str, *, engine_flags: Sequence[str] = (), gateway_flags: Sequence[str] = ()
) -> Iterator[Server]:
    """One engine and one gateway, as `local` starts them, but without an access log: the peer writes none either."""
    model, (grpc, metrics, port) = str(minilm()), _free_ports(3)
    engine = [
        *(sys.executable, "-m", "tulip_rose", "serve", "--model", model, "--device", "cpu"),
        *("--dtype", dtype, "--threads", str(threads), "--log-level", "warning"),
        *("--listen", f"127.0.0.1:{grpc}", "--metrics-listen", f"127.0.0.1:{metrics}", *engine_flags),
    ]
    gateway = [
        *(sys.executable, "-m", "ivy", "serve", "--model", model, "--served-name", "minilm"),
        *("--listen", f"127.0.0.1:{port}", "--engines", f"127.0.0.1:{grpc}", "--log-level", "warning"),
        *gateway_flags,
    ]
    url = f"http://127.0.0.1:{port}"
    with (
        _running(f"engine-{dtype}", engine, {}, f"http://127.0.0.1:{metrics}/metrics") as engine_pid,
        _running(f"gateway-{dtype}", gateway, {}, f"{url}/readyz") as gateway_pid,
    ):
        yield Server(f"trellis {dtype}", f"{url}/v1/embeddings", {"gateway": gateway_pid, "engine": engine_pid})


@contextmanager
def infinity(threads: int) -> Iterator[Server]:
    """Infinity with ONNX Runtime: graph optimised, uvloop and httptools, no access log, batches of 32.

    ONNX Runtime takes a thread for each core; `threads` can only check that this is what was asked for.

    Raises:
        ValueError: `threads` is not the number of cores.
    """
    if threads != (os.cpu_count() or 1):
        raise ValueError(f"infinity uses all {os.cpu_count()} cores: it cannot be measured with {threads} threads")
    [port] = _free_ports(1)
    command = [
        *(str(install.python()), str(Path(install.__file__).with_name("launch.py")), "v2"),
        *("--model-id", str(install.MODEL), "--served-model-name", "minilm"),
        *("--engine", "optimum", "--pooling-method", "mean"),
        *("--device", "cpu", "--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"),
    ]
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(install.HOME), "DO_NOT_TRACK": "1"}
    offline["INFINITY_ANONYMOUS_USAGE_STATS"] = "0"
    with _running("infinity", command, offline, f"http://127.0.0.1:{port}/health") as pid:
        yield Server("infinity", f"http://127.0.0.1:{port}/embeddings", {"infinity": pid})


@contextmanager
def _running(name: str, command: Sequence[str], environment: dict[str, str], ready: str) -> Iterator[int]:
    log = install.HOME.parent / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=os.environ | environment
        )
    try:
        _wait_until_ready(name, process, ready, log)
        yield process.pid
    finally:
        process.terminate()
        process.wait(90)


def _wait_until_ready(name: str, process: "subprocess.Popen[bytes]", url: str, log: Path) -> None:
    deadline = time.monotonic() + _READY_TIMEOUT_S
    while not _responds(url):
        if process.poll() is not None or time.monotonic() > deadline:
            last = log.read_text(encoding="utf-8", errors="replace")[-2000:]
            raise RuntimeError(f"{name} is not ready; it said:\n{last}")
        time.sleep(0.2)


def _responds(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
