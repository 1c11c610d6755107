"""`make bench-gpu` where something raises: that costs its own lines, the rest is measured, and the page is written."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tulip_rose.rose.graphs.kit import OffsetsAttention

from bench.gpu import __main__ as command
from bench.gpu import contenders, model_run, speed
from bench.gpu.clients import Served
from bench.gpu.contenders import PEER, Field, Rose, gather
from bench.gpu.failures import Failures
from bench.gpu.model_run import ModelRun
from bench.gpu.models import SHAPES, write_model
from bench.gpu.scale import ON_CPU, Clock

ROOT = Path(__file__).parents[2]
KEY = "bge-m3"
ON_THE_CPU = ["--cpu", "--models", KEY]


def raises(*_: Any, **__: Any) -> Any:
    raise RuntimeError("Triton Error [CUDA]:\n  no kernel image")


@pytest.fixture
def run(tmp_path: Path) -> ModelRun:
    return ModelRun(KEY, SHAPES[KEY], tmp_path, ON_CPU, Clock(600.0), lambda line: None)


def test_a_contender_that_raises_costs_its_own_lines_and_the_others_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    embed = Rose.embed
    monkeypatch.setattr(Rose, "embed", lambda self, texts: (raises if self.graphs else embed)(self, texts))
    monkeypatch.setattr(contenders, "find_spec", lambda name: None)
    assert command.main([*ON_THE_CPU, "--only", "parity", "latency", "--out", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    said = "RuntimeError: Triton Error [CUDA]: no kernel image"
    assert f"- {KEY}: parity, graphs, torch: {said}\n" in out
    assert "Traceback" in err
    [page] = tmp_path.glob("*.json")
    measured = json.loads(page.read_text(encoding="utf-8"))["measured"]
    raised = [f"latency, {length} tokens" for length in ON_CPU.lengths]
    assert measured["failures"] == [f"{KEY}: {what}, graphs, torch: {said}" for what in ("parity", *raised)]
    assert [each["name"] for each in measured[KEY]["vectors"]["of"]] == ["eager, torch", "eager"]
    assert not any(measured[KEY]["latency"]["graphs, torch"].values())
    assert all(len(times) > 1 for times in measured[KEY]["latency"]["eager"].values())
    assert "| graphs, torch | - | - | - |" in out


def test_a_kernel_that_raises_in_the_step_at_load_is_a_failure_and_names_the_attention(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(SHAPES[KEY], tmp_path, "cpu", small=True)
    monkeypatch.setattr(OffsetsAttention, "__call__", raises)
    monkeypatch.setattr(contenders, "find_spec", lambda name: None)
    failures = Failures(KEY)
    found = gather(SHAPES[KEY], tmp_path, ON_CPU, [], failures)
    found.close()
    assert [each.name for each in found.all] == ["eager"]
    assert found.left_out == [f"{PEER}: not installed"]
    [line] = failures.lines
    assert line.startswith(f"{KEY}: loading graphs, torch: TrialError: {tmp_path}: with attention torch a step fails: ")
    assert line.endswith("RuntimeError: Triton Error [CUDA]: no kernel image")


def test_what_stands_against_a_contender_is_left_out_and_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contenders, "find_spec", lambda name: None)
    failures, missing = Failures(KEY), tmp_path / "missing"
    found = gather(SHAPES[KEY], missing, ON_CPU, [], failures)
    assert found.all == failures.lines == []
    assert [line.partition(": no such folder")[0] for line in found.left_out] == [
        *(f"{name}: {missing}" for name in ("graphs, torch", "eager")),
        f"{PEER}: not installed",
    ]


def test_a_part_that_raises_is_named_and_the_next_one_is_done(run: ModelRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_run, "gather", lambda *_: Field([], None))
    monkeypatch.setattr(speed, "latency", raises)
    run.do(["latency", "throughput"], [])
    assert run.failures.lines == [f"{KEY}: latency: RuntimeError: Triton Error [CUDA]: no kernel image"]
    assert [heading for heading, _ in run.sections] == [f"{KEY}: throughput"]


def test_who_gets_stuck_with_clients_is_asked_no_more(run: ModelRun, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[tuple[str, int]]()

    def serve(rose: Rose, clients: int, *_: Any) -> Served:
        asked.append((rose.name, clients))
        return raises() if rose.graphs else Served(rose.name, clients, 1.0, 1.0, 1.0, 1.0)

    class Closed:
        def close(self) -> None: ...

    roses = [Rose("graphs", Closed(), graphs=True), Rose("eager", Closed(), graphs=False)]  # type: ignore[arg-type]
    monkeypatch.setattr(model_run, "gather", lambda *_: Field(roses, None))
    monkeypatch.setattr(model_run, "serve", serve)
    run.do(["clients"], [])
    assert asked == [("graphs", 1), ("eager", 1), ("eager", 8)]
    assert run.failures.lines == [f"{KEY}: 1 clients, graphs: RuntimeError: Triton Error [CUDA]: no kernel image"]
    assert [each["clients"] for each in run.data["clients"]] == [1, 8]


def test_a_model_that_cannot_be_made_costs_nothing_but_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "write_model", raises)
    assert command.main(["--cpu", "--out", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert all(f"- {SHAPES[key].name}: all of it: RuntimeError: Triton Error" in out for key in SHAPES)


def test_a_page_of_a_gpu_has_the_time_of_day_in_its_name_so_that_the_next_run_leaves_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr(command, "hardware", lambda: {"gpu": "an H100"})
    monkeypatch.setattr(command, "write_model", lambda *_, **__: None)
    monkeypatch.setattr(model_run, "gather", lambda *_: Field([], None))
    clock = iter(("2026-11-30 09:58 UTC", "2026-11-30 14:05 UTC"))
    monkeypatch.setattr(command, "surroundings", lambda _: {"date": next(clock)})
    for _ in range(2):
        assert command.main(["--models", KEY, "--only", "latency", "--out", str(tmp_path)]) == 0
    assert sorted(each.name for each in tmp_path.glob("*.md")) == ["2026-11-30-gpu-0958.md", "2026-11-30-gpu-1405.md"]


def test_what_ends_the_process_is_named_in_the_page_beside_what_was_measured_before(tmp_path: Path) -> None:
    asked = [*ON_THE_CPU, "--only", "latency", "throughput", "timeline", "--out", str(tmp_path)]
    dies = f"""
import os, resource
from bench.gpu import __main__ as command, model_run, speed

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
command.write_model = lambda *_, **__: None
model_run.gather = lambda *_: model_run.Field([], None)
speed.throughput = lambda *_: os.abort()
command.main({asked!r})
"""
    ended = subprocess.run([sys.executable, "-c", dies], cwd=ROOT, capture_output=True, timeout=120, check=False)
    assert ended.returncode == -signal.SIGABRT
    [page] = tmp_path.glob("*.md")
    measured = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))["measured"]
    assert list(measured[KEY]) == ["latency"]
    assert measured["failures"] == [f"the process ended in {SHAPES[KEY].name}: throughput"]
    text = page.read_text(encoding="utf-8")
    assert f"- {measured['failures'][0]}\n" in text
    assert "holds" not in text
