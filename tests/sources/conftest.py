"""A small model, the servers it comes from, and orders for it."""

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hub_server import HubServer
from trellis_operator.source import FetchedSource, HuggingFaceSource
from trellis_operator.sources.display import Lines
from trellis_operator.sources.fetch import Fetch, Fetched, Order, Surroundings
from trellis_operator.sources.metrics import FetchMetrics
from trellis_operator.sources.patience import Patience
from trellis_operator.sources.progress import Progress
from trellis_operator.sources.select import Part

REPO = "test/model"
HASTE = Patience(deadline_s=30, stall_s=2, attempts=3, first_pause_s=0.01)


@pytest.fixture(scope="session")
def weights() -> bytes:
    """Three megabytes that no shift or cut leaves the same."""
    return random.Random(7).randbytes(3_000_000)


@pytest.fixture
def model_files(weights: bytes) -> dict[str, bytes]:
    """What a repository holds: a model, and much that must stay where it is."""
    return {
        "config.json": b'{"model_type": "bert"}',
        "modules.json": b"[]",
        "tokenizer.json": b"{}" * 1000,
        "vocab.txt": b"a\nb\n",
        "model.safetensors": weights,
        "1_Pooling/config.json": b'{"pooling_mode_mean_tokens": true}',
        "2_Dense/model.safetensors": weights[:1000],
        "pytorch_model.bin": b"a pickle",
        "modeling_custom.py": b"import os",
        "README.md": b"# Words",
        "onnx/config.json": b"{}",
        "onnx/model.onnx": b"onnx",
        ".gitattributes": b"",
    }


NEEDED = {
    "config.json",
    "modules.json",
    "tokenizer.json",
    "vocab.txt",
    "model.safetensors",
    "1_Pooling/config.json",
    "2_Dense/model.safetensors",
}


@pytest.fixture
def needed(model_files: dict[str, bytes]) -> dict[str, bytes]:
    """What of it a fetch brings."""
    return {path: body for path, body in model_files.items() if path in NEEDED}


@pytest.fixture
def hub(model_files: dict[str, bytes]) -> Iterator[HubServer]:
    server = HubServer()
    server.add(REPO, model_files)
    yield server
    server.close()


@pytest.fixture
def hub_source(hub: HubServer) -> HuggingFaceSource:
    return HuggingFaceSource(REPO, hub.commits[REPO], None)


@dataclass
class Run:
    """A fetch in this process, and what it said."""

    fetched: Fetched
    said: str
    progress: Progress
    metrics: FetchMetrics


@pytest.fixture
def fetch(hub: HubServer) -> Callable[..., Run]:
    """Fetches in this process; raises as `Fetch.run` does. The lines stay in `fetch.said` even then."""

    def run(
        source: FetchedSource,
        target: Path,
        part: Part = Part.ALL,
        patience: Patience = HASTE,
        surroundings: Surroundings | None = None,
        keep: frozenset[str] | None = None,
    ) -> Run:
        run.said.clear()  # type: ignore[attr-defined]
        progress = Progress(Lines(run.said.append))  # type: ignore[attr-defined]
        metrics = FetchMetrics(progress)
        order = Order(source, target, part, patience, keep)
        fetched = Fetch(order, surroundings or Surroundings(hub_endpoint=hub.url), progress, metrics).run()
        return Run(fetched, "\n".join(run.said), progress, metrics)  # type: ignore[attr-defined]

    run.said = []  # type: ignore[attr-defined]
    return run


@pytest.fixture
def files_in() -> Callable[[Path], dict[str, bytes]]:
    """Reads all files of a folder but the record of the fetch."""

    def read(folder: Path) -> dict[str, bytes]:
        found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        found.pop(".trellis-source", None)
        return found

    return read


class Command:
    """`python -m trellis_operator fetch` as a process."""

    def __init__(self, arguments: Sequence[str], environment: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as sink:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "trellis_operator", "fetch", *arguments],
                env={key: value for key, value in os.environ.items() if not key.startswith(("HF_", "AWS_", "PIP_"))}
                | environment,
                stderr=sink,
                stdout=subprocess.DEVNULL,
            )

    @property
    def said(self) -> str:
        return self._log.read_text()

    def wait(self, seconds: float = 60) -> int:
        return self.process.wait(seconds)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def command(tmp_path: Path, hub: HubServer) -> Iterator[Callable[..., Command]]:
    """Starts `fetch` for a source as it stands in a manifest."""
    started: list[Command] = []

    def start(source: object, target: Path, *flags: str, **environment: str) -> Command:
        file = tmp_path / f"source-{len(started)}.json"
        file.write_text(source if isinstance(source, str) else json.dumps(source))
        arguments = ["--source", str(file), "--to", str(target), *flags]
        log = tmp_path / f"log-{len(started)}"
        started.append(Command(arguments, {"HF_ENDPOINT": hub.url, **environment}, log))
        return started[-1]

    yield start
    for process in started:
        if process.process.poll() is None:
            process.kill()


@pytest.fixture(scope="session")
def partials() -> Callable[[Path, str, int], list[Path]]:
    """Unfinished files of a pattern that have a size; whoever fetches may finish and rename others meanwhile."""

    def found(folder: Path, pattern: str, size: int) -> list[Path]:
        sizes = {}
        for path in folder.glob(pattern):
            with contextlib.suppress(FileNotFoundError):
                sizes[path] = path.stat().st_size
        return [path for path, each in sizes.items() if each == size]

    return found


@pytest.fixture(scope="session")
def until() -> Callable[..., Any]:
    """Polls until something is true, for at most so many seconds."""

    def wait(what: Callable[[], Any], seconds: float = 30) -> Any:
        end = time.monotonic() + seconds
        while not (seen := what()):
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.02)
        return seen

    return wait
