"""Mixed load on a manifest that runs as processes, and whether the memory of all three programs stays flat.

`python -m bench.soak` takes ten minutes. The programs are those of `python -m trellis_operator local`: it supervises an
engine and a gateway and takes their logs.
"""

import argparse
import asyncio
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import aiohttp
import psutil

from bench.flatness import Flatness, Sample
from bench.models import minilm
from bench.record import surroundings, table, write

ROLES = {"operator": "trellis_operator", "gateway": "ivy", "engine": "tulip_rose"}
WARM_SHARE = 0.3
"""Of the time: caches fill and allocators find their size meanwhile."""
_GROWTH_SHARE = 0.02
_SEED = 7
_CLIENTS = 6
_READY_S = 180.0
_SAMPLE_S = 1.0
_TIMEOUT = aiohttp.ClientTimeout(total=60)
_MANIFEST = Path(__file__).parents[1] / "examples" / "minilm.yaml"
_WORDS = ("sun", "moon", "sea", "sky", "salt", "rope", "lamp", "bread", "stone", "river", "winter", "quiet", "green")
_MODEL = "all-minilm-l6-v2"


@dataclass(frozen=True)
class Running:
    """A manifest that serves: where, and the process of each program."""

    url: str
    processes: dict[str, psutil.Process]


@dataclass
class Soaked:
    """What was seen.

    Attributes:
        seconds: how long the load went on.
        samples: resident memory of each program.
        statuses: answers by status; 0 are requests whose caller went away.
    """

    seconds: float
    samples: dict[str, list[Sample]] = field(default_factory=lambda: {role: [] for role in ROLES})
    statuses: Counter[int] = field(default_factory=Counter)

    def flatness(self, share: float) -> dict[str, Flatness]:
        """Of each program, once warm; growth is bounded by this share of its memory."""
        warm_s = self.seconds * WARM_SHARE
        return {role: Flatness.of(samples, warm_s, share) for role, samples in self.samples.items()}


def main() -> int:
    """Run, print the table and write it to `bench/results`; returns 1 where a program grew."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="Length of the load (%(default)s).")
    options = parser.parse_args()
    around = surroundings(("torch", "tokenizers", "aiohttp", "grpcio", "numpy"))
    soaked = soak(options.seconds)
    flatness = soaked.flatness(_GROWTH_SHARE)
    data = {
        "statuses": {str(status): count for status, count in sorted(soaked.statuses.items())},
        "flatness": {role: vars(found) | {"flat": found.flat} for role, found in flatness.items()},
        "samples": {role: [[each.seconds, each.mib] for each in found] for role, found in soaked.samples.items()},
    }
    title = f"Soak: {options.seconds:g} s of mixed load"
    path = write("soak", title, around, [("Memory", _memory(flatness, soaked)), ("Load", _load(soaked))], data)
    print(path.read_text(encoding="utf-8"))
    return 0 if all(each.flat for each in flatness.values()) else 1


def soak(seconds: float) -> Soaked:
    """Start the programs, load them for so long, and stop them."""
    soaked = Soaked(seconds)
    with serving(minilm()) as running:
        asyncio.run(_soak(running, soaked))
    return soaked


@contextmanager
def serving(model: Path) -> Iterator[Running]:
    """The example's manifest as processes, ready, while inside.

    Raises:
        RuntimeError: it does not become ready.
    """
    with tempfile.TemporaryFile() as said:
        command = [sys.executable, "-m", "trellis_operator", "local", str(_MANIFEST), "--model", str(model)]
        local = subprocess.Popen([*command, "--port", "0"], stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        try:
            url = _url(local, said)
            yield Running(url, _processes(psutil.Process(local.pid)))
        finally:
            local.terminate()
            local.wait(90)


def _url(local: "subprocess.Popen[bytes]", said: Any) -> str:
    """Where it serves, once it says so."""
    deadline = time.monotonic() + _READY_S
    while True:
        said.seek(0)
        text = said.read().decode(errors="replace")
        found = re.search(r"ready: (http://[^/ ]+)", text)
        if found:
            return found[1]
        if local.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the manifest does not run; it said:\n{text[-2000:]}")
        time.sleep(0.2)


def _processes(local: psutil.Process) -> dict[str, psutil.Process]:
    family = [local, *local.children(recursive=True)]
    return {role: next(each for each in family if module in each.cmdline()) for role, module in ROLES.items()}


async def _soak(running: Running, soaked: Soaked) -> None:
    start = time.monotonic()
    random = Random(_SEED)
    async with aiohttp.ClientSession(timeout=_TIMEOUT) as client, asyncio.TaskGroup() as group:
        group.create_task(_sample(running, soaked, start))
        for _ in range(_CLIENTS):
            group.create_task(_ask(client, running.url, soaked, start, Random(random.random())))


async def _sample(running: Running, soaked: Soaked, start: float) -> None:
    while (passed := time.monotonic() - start) < soaked.seconds:
        for role, process in running.processes.items():
            soaked.samples[role].append(Sample(passed, process.memory_info().rss / 2**20))
        await asyncio.sleep(_SAMPLE_S)


async def _ask(client: aiohttp.ClientSession, url: str, soaked: Soaked, start: float, random: Random) -> None:
    while time.monotonic() - start < soaked.seconds:
        path, body, patience_s = request(random)
        try:
            async with asyncio.timeout(patience_s), client.post(url + path, json=body) as answer:
                await answer.read()
                soaked.statuses[answer.status] += 1
        except TimeoutError:
            soaked.statuses[0] += 1


def request(random: Random) -> tuple[str, dict[str, Any], float]:
    """One of many kinds: a path, a body, and the seconds that its caller waits."""
    chance = random.random()
    body: dict[str, Any] = {"model": _MODEL, "input": _texts(random), "encoding_format": "base64"}
    if chance < 0.05:
        return "/v1/embeddings", body, 0.005  # goes away before there is an answer
    if chance < 0.10:
        return "/v1/embeddings", body | {"model": f"model-{random.randrange(10**6)}"}, 60.0
    if chance < 0.15:
        return "/v1/embeddings", body | {"input": [{}]}, 60.0
    if chance < 0.18:
        return f"/v1/path-{random.randrange(10**6)}", body, 60.0
    if chance < 0.35:
        return "/v1/embeddings", body | {"encoding_format": "float"}, 60.0
    return "/v1/embeddings", body, 60.0


def _texts(random: Random) -> list[str]:
    """One to twelve texts, most of them short, of up to 150 words."""
    return [
        " ".join(random.choices(_WORDS, k=min(150, max(1, round(random.lognormvariate(2.5, 1))))))
        for _ in range(random.choice((1, 1, 1, 2, 4, 12)))
    ]


def _memory(flatness: dict[str, Flatness], soaked: Soaked) -> str:
    rows = [
        [
            role,
            f"{each.middle_mib:.1f}",
            f"{each.highest_mib:.1f}",
            f"{each.slope_mib_per_hour:+.1f}",
            f"{each.growth_mib:+.2f}",
            f"{each.bound_mib:.2f}",
            "yes" if each.flat else "NO",
        ]
        for role, each in flatness.items()
    ]
    header = ("program", "median MiB", "highest MiB", "slope MiB/h", "growth MiB", "bound MiB", "flat")
    said = (
        f"Resident memory, each second, from {soaked.seconds * WARM_SHARE:g} s on. Slope: median over all pairs of "
        f"samples. Growth: what it comes to by the end; flat: at most {_GROWTH_SHARE:.0%} of the median, or 2 MiB."
    )
    return f"{said}\n\n{table(header, rows)}"


def _load(soaked: Soaked) -> str:
    total = sum(soaked.statuses.values())
    rows = [[str(status or "caller left"), f"{count:,}"] for status, count in sorted(soaked.statuses.items())]
    return f"{total:,} requests from {_CLIENTS} callers, {total / soaked.seconds:.1f} a second.\n\n" + table(
        ("answer", "requests"), rows
    )


if __name__ == "__main__":
    sys.exit(main())
