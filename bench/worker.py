"""One contender in a process of its own: workload names in on stdin, a JSON line of times out on stdout.

Started by `bench.in_process`, so that no contender's memory or threads are counted for another.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import psutil

from bench.contenders import Encode, load
from bench.workload import Workload, in_process


def main() -> None:
    """Serve until stdin ends. Arguments: contender, model folder, threads, texts of the mixed workload."""
    name, model, threads, texts = sys.argv[1:]
    encode = load(name, Path(model), int(threads))
    workloads = {each.name: each for each in in_process(Path(model), int(texts))}
    _answer(first=_first_vectors(encode, workloads))
    for line in sys.stdin:
        seconds = _run(encode, workloads[line.strip()])
        _answer(seconds=seconds, resident_bytes=psutil.Process().memory_info().rss)


def _run(encode: Encode, workload: Workload) -> list[float]:
    seconds = []
    for call in workload.calls:
        start = time.perf_counter()
        vectors = encode(call)
        seconds.append(time.perf_counter() - start)
        if vectors.shape[0] != len(call) or not np.isfinite(vectors).all():
            raise ValueError(f"{len(call)} texts gave vectors of shape {vectors.shape}")
    return seconds


def _first_vectors(encode: Encode, workloads: dict[str, Workload]) -> list[list[float]]:
    """Warm up on a call of every kind, and give some vectors to compare contenders by."""
    for workload in workloads.values():
        encode(workload.calls[0][:64])
    some = [text for workload in workloads.values() for text in workload.calls[0][:20]]
    return [[float(value) for value in row] for row in encode(some)]


def _answer(**fields: object) -> None:
    print(json.dumps(fields), flush=True)


if __name__ == "__main__":
    main()
