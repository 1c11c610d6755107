"""The gateway with its engine beside infinity, over HTTP with wrk: `python -m bench.http`.

All servers are up, and only one is under load at a time; in each round every kind of load is given to all, in an order
that the seed decides. Needs `wrk` on the path.
"""

import argparse
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from bench.infinity import install
from bench.models import minilm
from bench.record import Spread, surroundings, table, write
from bench.servers import Server, infinity, trellis
from bench.workload import SEED, mixed, of_length

_PACKAGES = ("torch", "tokenizers", "aiohttp", "grpcio", "numpy")
_SCRIPT = Path(__file__).with_name("wrk.lua")
_SHORT_TOKENS = 16
_BATCH = 8
_ASKED_AT_ONCE = 100
_SAME_MODEL = 0.999


@dataclass(frozen=True)
class Load:
    """Requests of equally many texts from `clients` callers.

    Attributes:
        longer: times that a run is longer than of short requests: enough requests must end within it.
    """

    name: str
    clients: int
    requests: tuple[tuple[str, ...], ...]
    longer: int = 1


@dataclass(frozen=True)
class Measured:
    """One run of wrk."""

    texts_per_second: float
    p50_ms: float
    p99_ms: float


Times = dict[tuple[str, str], list[Measured]]


def main() -> None:
    """Run, print the tables and write them to `bench/results`."""
    options = _options()
    if not shutil.which("wrk"):
        sys.exit("wrk is not on the path: it is a package of Debian and others, named wrk")
    install.main()
    around = surroundings(_PACKAGES) | {"infinity": "0.0.78, ONNX Runtime, see bench/infinity/requirements.txt"}
    model = minilm()
    corpus = mixed(model, options.texts)
    with ExitStack() as stack:
        ours = [stack.enter_context(trellis(options.threads, dtype)) for dtype in ("float32", "bfloat16")]
        peer = stack.enter_context(infinity(options.threads))
        servers = [*ours, peer]
        lowest = {server.name: _compare(server, peer, corpus) for server in ours}
        memory = {server.name: _after_corpus(server, corpus) for server in servers}
        loads = _loads(model, corpus)
        times = _race(servers, loads, options)
    sections = [
        ("Speed", _speed(times, loads, options)),
        ("Memory", _memory(memory, len(corpus))),
        (
            "Agreement",
            "\n".join(f"- {name}: lowest cosine to infinity {value:.6f}" for name, value in lowest.items()),
        ),
    ]
    data = {
        "runs": {" / ".join(key): [vars(each) for each in runs] for key, runs in times.items()},
        "resident_mib": memory,
    }
    path = write("http", f"Over HTTP, {options.threads} cores", around, sections, data)
    print(path.read_text(encoding="utf-8"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="Times that each load is given to each server.")
    parser.add_argument("--seconds", type=int, default=5, help="Length of one run of wrk.")
    parser.add_argument("--texts", type=int, default=2000, help="Texts of the corpus before memory is read.")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="CPU threads of the engine.")
    return parser.parse_args()


def _loads(model: Path, corpus: Sequence[str]) -> list[Load]:
    short = tuple((text,) for text in islice(of_length(model, _SHORT_TOKENS), 200))
    batches = tuple(tuple(corpus[start : start + _BATCH]) for start in range(0, len(corpus) - _BATCH + 1, _BATCH))
    return [
        *(Load(f"1 x {_SHORT_TOKENS} tokens, {clients} clients", clients, short) for clients in (1, 4, 16)),
        Load(f"{_BATCH} mixed texts, 4 clients", 4, batches, longer=3),
    ]


def _compare(server: Server, peer: Server, corpus: Sequence[str]) -> float:
    """Both must give the vectors of the same model; their lowest cosine."""
    ours, theirs = (_units(each.ask(corpus[:_ASKED_AT_ONCE])) for each in (server, peer))
    lowest = float((ours * theirs).sum(axis=1).min())
    if lowest < _SAME_MODEL:
        raise RuntimeError(f"the servers do not give the same vectors, so their speeds say nothing: {lowest}")
    return lowest


def _units(encoded: Sequence[str]) -> NDArray[np.float64]:
    rows = np.stack([np.frombuffer(base64.b64decode(each), dtype="<f4") for each in encoded]).astype(np.float64)
    units: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return units


def _after_corpus(server: Server, corpus: Sequence[str]) -> dict[str, float]:
    for start in range(0, len(corpus), _ASKED_AT_ONCE):
        server.ask(corpus[start : start + _ASKED_AT_ONCE])
    return server.resident_mib()


def _race(servers: Sequence[Server], loads: Sequence[Load], options: argparse.Namespace) -> Times:
    random = Random(SEED)
    times: Times = {}
    for number in range(options.rounds):
        for load in loads:
            for server in random.sample(servers, len(servers)):
                times.setdefault((load.name, server.name), []).append(_wrk(server, load, options.seconds * load.longer))
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr, flush=True)
    return times


def _wrk(server: Server, load: Load, seconds: int) -> Measured:
    """One run.

    Raises:
        RuntimeError: an answer was not 2xx, or did not come.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as bodies:
        bodies.write("\n".join(server.body(texts) for texts in load.requests) + "\n")
        bodies.flush()
        command = [
            "wrk",
            "-t1",
            f"-c{load.clients}",
            f"-d{seconds}s",
            "--timeout",
            "60s",
            "-s",
            str(_SCRIPT),
            server.url,
        ]
        done = subprocess.run(command, env=os.environ | {"BODIES": bodies.name}, capture_output=True, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    if found["not_2xx"] or found["broken"] or not found["requests"]:
        raise RuntimeError(f"{server.name} under {load.name}: {found}")
    texts = found["requests"] * len(load.requests[0])
    return Measured(1e6 * texts / found["microseconds"], found["p50_ms"], found["p99_ms"])


def _speed(times: Times, loads: Sequence[Load], options: argparse.Namespace) -> str:
    rows = []
    names = list(dict.fromkeys(name for _, name in times))
    for load in loads:
        base = Spread.of([run.texts_per_second for run in times[load.name, "infinity"]]).middle
        for name in sorted(names, reverse=True):
            runs = times[load.name, name]
            speed = Spread.of([run.texts_per_second for run in runs])
            p50, p99 = (Spread.of(values) for values in zip(*((run.p50_ms, run.p99_ms) for run in runs), strict=True))
            shown = [speed.shown(), p50.shown(2), p99.shown(2), f"{speed.middle / base:.2f}"]
            rows.append([load.name, name, *shown])
    note = (
        f"wrk on the same machine, {options.seconds} s a run ({3 * options.seconds} s of batches): median of "
        f"{options.rounds} interleaved rounds (middle half of them). Vectors in base64, as the openai clients ask."
    )
    return note + "\n\n" + table(["load", "server", "texts/s", "p50 ms", "p99 ms", "times infinity"], rows)


def _memory(memory: dict[str, dict[str, float]], texts: int) -> str:
    rows = [[server, role, f"{mib:.0f}"] for server, roles in memory.items() for role, mib in roles.items()]
    return table(["server", "process", f"MiB resident after {texts:,} texts"], rows)


if __name__ == "__main__":
    main()
