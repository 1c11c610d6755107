"""What traces cost: `python -m bench.tracing_cost`.

Four pairs of engine and gateway are up: one that traces nothing, another one like it, one that traces 1 % of requests,
one that traces all. One caller asks them in turn, a few requests at a time, in an order that the seed decides; each
round is compared with its own first pair, and the second pair shows what chance alone does. The collector takes bytes
and reads none; it shares the machine.
"""

import argparse
import http.client
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Any
from urllib.parse import urlsplit

import grpc

from bench.models import minilm
from bench.record import Spread, surroundings, table, write
from bench.servers import Server, trellis
from bench.workload import SEED, of_length

_PACKAGES = ("torch", "aiohttp", "grpcio", "opentelemetry-sdk")
_TOKENS = 16
_OFF, _AGAIN = "nothing", "nothing, again"
_SHARES: dict[str, float | None] = {_OFF: None, _AGAIN: None, "1 %": 1.0, "100 %": 100.0}
_ROLES = ("gateway", "engine")
_ANY = "opentelemetry.proto.collector.trace.v1.TraceService"


@dataclass(frozen=True)
class Turn:
    """A few requests, one after the other.

    Attributes:
        ms: of the middle one.
        cpu_us: of a request, by process.
    """

    ms: float
    cpu_us: dict[str, float]


class Caller:
    """One connection that stays."""

    def __init__(self, server: Server, bodies: list[bytes]) -> None:
        parts = urlsplit(server.url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        self._server, self._path, self._bodies = server, parts.path, bodies

    def turn(self, requests: int) -> Turn:
        """Ask so many times."""
        before = {role: _cpu_ns(pid) for role, pid in self._server.pids.items()}
        times = [self._ask(self._bodies[number % len(self._bodies)]) for number in range(requests)]
        after = {role: _cpu_ns(pid) for role, pid in self._server.pids.items()}
        return Turn(1000 * median(times), {role: (after[role] - before[role]) / 1000 / requests for role in _ROLES})

    def _ask(self, body: bytes) -> float:
        began = time.perf_counter()
        self._connection.request("POST", self._path, body, {"content-type": "application/json"})
        response = self._connection.getresponse()
        response.read()
        if response.status != 200:
            raise RuntimeError(f"{self._server.name} answers {response.status}")
        return time.perf_counter() - began


def main() -> None:
    """Run, print the table and write it to `bench/results`."""
    options = _options()
    around = surroundings(_PACKAGES)
    with ExitStack() as stack:
        endpoint = stack.enter_context(_collector())
        servers = {name: stack.enter_context(_pair(share, endpoint)) for name, share in _SHARES.items()}
        turns = _race(servers, options)
    text = f"{options.rounds} rounds of {options.requests} requests each, of one text of {_TOKENS} tokens; one caller."
    sections = [("Cost", f"{text} Median (middle half).\n\n{_cost(turns)}")]
    data = {name: [vars(turn) for turn in each] for name, each in turns.items()}
    path = write("tracing-cost", "What traces cost", around, sections, data)
    print(path.read_text(encoding="utf-8"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=150, help="Turns of each pair.")
    parser.add_argument("--requests", type=int, default=40, help="Requests of one turn.")
    return parser.parse_args()


def _race(servers: dict[str, Server], options: argparse.Namespace) -> dict[str, list[Turn]]:
    texts = list(islice(of_length(minilm(), _TOKENS), 200))
    random = Random(SEED)
    bodies = [next(iter(servers.values())).body([text]).encode() for text in texts]
    callers = {name: Caller(server, bodies) for name, server in servers.items()}
    for caller in callers.values():
        caller.turn(10 * options.requests)
    turns: dict[str, list[Turn]] = {name: [] for name in callers}
    for _ in range(options.rounds):
        for name in random.sample(list(callers), len(callers)):
            turns[name].append(callers[name].turn(options.requests))
    return turns


def _cost(turns: dict[str, list[Turn]]) -> str:
    header = ["traced", "p50 ms", "p50, times nothing", *(f"{role} CPU us a request" for role in _ROLES), "CPU, mean"]
    return table(header, [[name, *_row(each, turns[_OFF])] for name, each in turns.items()])


def _row(turns: list[Turn], off: list[Turn]) -> list[str]:
    ratios = [turn.ms / other.ms for turn, other in zip(turns, off, strict=True)]
    cpu = [Spread.of([turn.cpu_us[role] for turn in turns]).shown(0) for role in _ROLES]
    whole = mean(sum(turn.cpu_us.values()) for turn in turns) / mean(sum(turn.cpu_us.values()) for turn in off)
    times = Spread.of([turn.ms for turn in turns])
    return [times.shown(3), Spread.of(ratios).shown(4), *cpu, f"{100 * (whole - 1):+.1f} %"]


@contextmanager
def _pair(share: float | None, endpoint: str) -> Iterator[Server]:
    to = () if share is None else ("--trace-endpoint", endpoint)
    sampled = () if share is None else ("--trace-sample-percent", str(share))
    with trellis(1, "float32", engine_flags=to, gateway_flags=(*to, *sampled)) as server:
        yield server


@contextmanager
def _collector() -> Iterator[str]:
    """A process that takes all spans; gives its endpoint."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_collect, args=(theirs,), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        ours.send("end")
        process.join(10)


def _collect(told: "Connection[int, str]") -> None:
    server = grpc.server(ThreadPoolExecutor(1))
    taken: Any = grpc.unary_unary_rpc_method_handler(lambda request, context: b"")
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(_ANY, {"Export": taken}),))
    told.send(server.add_insecure_port("127.0.0.1:0"))
    server.start()
    told.recv()
    server.stop(None).wait()


def _cpu_ns(pid: int) -> int:
    """Of all threads of a process, those that ended left out."""
    return sum(_run_ns(path) for path in Path(f"/proc/{pid}/task").iterdir())


def _run_ns(task: Path) -> int:
    try:
        return int((task / "schedstat").read_text().split()[0])
    except (OSError, IndexError):
        return 0


if __name__ == "__main__":
    main()
