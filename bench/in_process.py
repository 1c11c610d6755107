"""Trellis's engine as a library beside sentence-transformers: `python -m bench.in_process`.

Each contender has a process of its own and only one works at a time; in each round every workload is given to all of
them, in an order that the seed decides.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.contenders import BASELINE, CONTENDERS
from bench.models import minilm
from bench.record import Spread, surroundings, table, write
from bench.workload import SEED, Workload, in_process

_PACKAGES = ("torch", "tokenizers", "sentence-transformers", "transformers", "numpy")
_SAME_MODEL = 0.99


@dataclass
class Contender:
    """A worker process and what it has measured."""

    name: str
    process: "subprocess.Popen[str]"
    seconds: dict[str, list[list[float]]] = field(default_factory=dict)
    resident_bytes: int = 0

    def read(self) -> dict[str, Any]:
        """The next line of the worker.

        Raises:
            RuntimeError: it ended.
        """
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with code {self.process.wait()}")
        return dict(json.loads(line))

    def run(self, workload: Workload) -> None:
        """Let it do a workload once."""
        assert self.process.stdin is not None
        self.process.stdin.write(workload.name + "\n")
        self.process.stdin.flush()
        answer = self.read()
        self.seconds.setdefault(workload.name, []).append(answer["seconds"])
        self.resident_bytes = answer["resident_bytes"]

    def times(self, workload: Workload) -> list[float]:
        """One time a round, in seconds: the median call, or all calls together."""
        rounds = self.seconds[workload.name]
        return [float(np.median(each)) if workload.latency else sum(each) for each in rounds]


def main() -> None:
    """Run, print the tables and write them to `bench/results`."""
    options = _options()
    model = minilm()
    around = surroundings(_PACKAGES)
    workloads = in_process(model, options.texts)
    with ExitStack() as stack:
        contenders = [_start(name, model, options, stack) for name in CONTENDERS]
        cosines = _compare(contenders)
        _race(contenders, workloads, options.rounds)
    sections = [
        ("Time", _times(contenders, workloads, options)),
        ("Memory", _memory(contenders)),
        ("Agreement", "\n".join(f"- {name}: lowest cosine {value:.7f}" for name, value in cosines.items())),
        ("Texts", "\n".join(f"- {each.name}: {each.texts:,} texts, sha256 {each.digest}" for each in workloads)),
    ]
    data = {each.name: {"seconds": each.seconds, "resident_bytes": each.resident_bytes} for each in contenders}
    path = write("in-process", f"In process, {options.threads} threads", around, sections, data)
    print(path.read_text(encoding="utf-8"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="Times that each workload is given to each contender.")
    parser.add_argument("--texts", type=int, default=2000, help="Texts of the mixed workload.")
    parser.add_argument("--threads", type=int, default=2, help="CPU threads of each contender.")
    return parser.parse_args()


def _start(name: str, model: Path, options: argparse.Namespace, stack: ExitStack) -> Contender:
    command = [sys.executable, "-m", "bench.worker", name, str(model), str(options.threads), str(options.texts)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    stack.callback(process.wait, 30)
    stack.callback(process.terminate)
    return Contender(name, process)


def _compare(contenders: Sequence[Contender]) -> dict[str, float]:
    """Wait until all are warm; the lowest cosine of each to the baseline."""
    first = {each.name: _units(each.read()["first"]) for each in contenders}
    lowest = {name: float((rows * first[BASELINE]).sum(axis=1).min()) for name, rows in first.items()}
    if min(lowest.values()) < _SAME_MODEL:
        raise RuntimeError(f"the contenders do not give the same vectors, so their speeds say nothing: {lowest}")
    return lowest


def _units(vectors: list[list[float]]) -> NDArray[np.float64]:
    rows = np.asarray(vectors, dtype=np.float64)
    units: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return units


def _race(contenders: Sequence[Contender], workloads: Sequence[Workload], rounds: int) -> None:
    random = Random(SEED)
    for number in range(rounds):
        for workload in workloads:
            for contender in random.sample(contenders, len(contenders)):
                contender.run(workload)
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)


def _times(contenders: Sequence[Contender], workloads: Sequence[Workload], options: argparse.Namespace) -> str:
    [baseline] = [each for each in contenders if each.name == BASELINE]
    rows = []
    for workload in workloads:
        base = Spread.of(baseline.times(workload)).middle
        for each in contenders:
            spread = Spread.of([1000 * value for value in each.times(workload)])
            rows.append([workload.name, each.name, spread.shown(), f"{1000 * base / spread.middle:.2f}"])
    note = (
        f"Milliseconds, tokenization included: median of {options.rounds} interleaved rounds (middle half of them). "
        "Mixed texts: all of them; else one call. Trellis takes the texts as they come, without sorting them; "
        "sentence-transformers sorts by length, in batches of 32, as `encode` does by default."
    )
    return note + "\n\n" + table(["workload", "contender", "ms", "times float32 baseline"], rows)


def _memory(contenders: Sequence[Contender]) -> str:
    rows = [[each.name, f"{each.resident_bytes / 2**20:.0f}"] for each in contenders]
    return table(["contender", "MiB resident after all rounds"], rows)


if __name__ == "__main__":
    main()
