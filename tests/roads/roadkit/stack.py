"""Engines and a gateway as real processes, and the questions a test asks them."""

import http.client
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client.parser import text_string_to_metric_families
from roadkit import http as roadhttp
from roadkit.ports import free_ports
from roadkit.program import Program, Programs
from roadkit.waiting import until

_READY_TIMEOUT_S = 120.0
_ASK_TIMEOUT_S = 5.0
KEY = "a-key-for-tests-only"
EMBEDDING: dict[str, Any] = {
    "truncation": "error",
    "lateChunking": True,
    "prompts": {"query": "query: ", "document": "passage: "},
}


@dataclass(frozen=True)
class Engine:
    """A running engine."""

    program: Program
    address: str
    metrics_url: str

    def metric(self, name: str, **labels: str) -> float:
        """One sample of its metrics; fails when it is not there."""
        return _sample(self.metrics_url, f"trellis_engine_{name}", labels)

    def waiting_tokens(self) -> float:
        """Tokens that it accepted and has not given back."""
        return self.metric("queued_tokens") + self.metric("in_flight_tokens")

    def health(self, service: str) -> str:
        """What grpc.health.v1 says of `service`: SERVING, NOT_SERVING, or UNREACHABLE."""
        with grpc.insecure_channel(self.address, [("grpc.enable_http_proxy", 0)]) as channel:
            asked = health_pb2.HealthCheckRequest(service=service)
            try:
                status = health_pb2_grpc.HealthStub(channel).Check(asked, timeout=_ASK_TIMEOUT_S).status
            except grpc.RpcError:
                return "UNREACHABLE"
            return str(health_pb2.HealthCheckResponse.ServingStatus.Name(status))


@dataclass(frozen=True)
class Gateway:
    """A running gateway."""

    program: Program
    url: str

    def metric(self, name: str, **labels: str) -> float:
        """One sample of its metrics; fails when it is not there."""
        return _sample(f"{self.url}/metrics", f"trellis_gateway_{name}", labels)

    def ready(self) -> bool:
        return responds(self.url, "/readyz", 200)


@dataclass(frozen=True)
class Stack:
    """A gateway and the engines that it calls."""

    gateway: Gateway
    engines: tuple[Engine, ...]

    @property
    def url(self) -> str:
        return self.gateway.url

    @property
    def engine(self) -> Engine:
        """The only engine."""
        [engine] = self.engines
        return engine

    @property
    def programs(self) -> tuple[Program, ...]:
        """In the order in which they are to be stopped."""
        return (self.gateway.program, *(engine.program for engine in self.engines))


class Starter:
    """Starts programs on the model in `model`; whoever asks stops them, or the session's end does."""

    def __init__(self, programs: Programs, model: Path) -> None:
        self._programs = programs
        self._model = model
        self._embedding = programs.folder / "embedding.json"
        self._embedding.write_text(json.dumps(EMBEDDING), encoding="utf-8")

    def engine(self, *flags: str, code: str | None = None, name: str = "engine", wait: bool = True) -> Engine:
        """Start an engine, and wait until it is ready unless told not to.

        Args:
            flags: besides model, addresses and embedding.
            code: runs before the engine's own main, in the same process.
            name: in reports of failed tests.
            wait: whether it is to be ready.
        """
        port, metrics_port = free_ports(2)
        serve = [
            "serve",
            *("--model", str(self._model), "--name", "minilm", "--embedding", str(self._embedding)),
            *("--listen", f"127.0.0.1:{port}", "--metrics-listen", f"127.0.0.1:{metrics_port}"),
            *flags,
        ]
        program = self._programs.python(name, _start("tulip_rose", code, serve))
        engine = Engine(program, f"127.0.0.1:{port}", f"http://127.0.0.1:{metrics_port}/metrics")
        if wait:
            _until_ready(program, lambda: engine.health("readiness") == "SERVING")
        return engine

    def gateway(self, engines: Sequence[Engine], *flags: str, wait: bool = True) -> Gateway:
        """Start a gateway in front of `engines`, and wait until it is ready unless told not to."""
        addresses = [engine.address for engine in engines] or [f"127.0.0.1:{free_ports(1)[0]}"]
        [port] = free_ports(1)
        serve = [
            "serve",
            *("--model", str(self._model), "--served-name", "minilm", "--embedding", str(self._embedding)),
            *("--listen", f"127.0.0.1:{port}", "--engines", ",".join(addresses)),
            *flags,
        ]
        gateway = Gateway(self._programs.python("gateway", ["-m", "ivy", *serve]), f"http://127.0.0.1:{port}")
        if wait:
            _until_ready(gateway.program, gateway.ready)
        else:
            _until_ready(gateway.program, lambda: responds(gateway.url, "/healthz", 200))
        return gateway

    def stack(self, *engines: Engine, flags: Sequence[str] = ()) -> Stack:
        """A gateway in front of these engines, or of one new engine."""
        chosen = engines or (self.engine(),)
        return Stack(self.gateway(chosen, *flags), tuple(chosen))

    def stop(self, *programs: Program) -> None:
        """Stop these now."""
        self._programs.stop(*programs)


def responds(url: str, path: str, status: int) -> bool:
    """Whether GET gives this status; a refused connection does not."""
    try:
        return roadhttp.get(url + path).status == status
    except (OSError, http.client.HTTPException):
        return False


def _start(module: str, code: str | None, arguments: Sequence[str]) -> list[str]:
    if code is None:
        return ["-m", module, *arguments]
    lines = [code, "import sys", f"from {module}.__main__ import main", "sys.exit(main())"]
    return ["-c", "\n".join(lines), *arguments]


def _until_ready(program: Program, ready: Callable[[], bool]) -> None:
    def ready_or_dead() -> bool:
        assert program.alive, f"{program.name} ended with code {program.process.returncode}:\n{program.tail()}"
        return ready()

    until(ready_or_dead, f"{program.name} is ready", _READY_TIMEOUT_S)


def _sample(url: str, name: str, labels: dict[str, str]) -> float:
    text = roadhttp.get(url).body.decode()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                return float(sample.value)
    raise AssertionError(f"{name} {labels} is not among the metrics")
