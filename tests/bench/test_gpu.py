"""`make bench-gpu` on a machine without a GPU: all of it runs, it says so, and a wrong vector is seen."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tulip_rose.rose.backends.table import NAMES
from tulip_rose.rose.graphs.key import Buckets

from bench.gpu import __main__ as command
from bench.gpu import model_run
from bench.gpu.contenders import Rose
from bench.gpu.correct import even, likeness, lowest, uneven
from bench.gpu.model_run import PARTS
from bench.gpu.models import SHAPES
from bench.gpu.scale import ON_CPU, ON_GPU, Clock
from bench.gpu.targets import TARGETS
from bench.gpu.timeline import REST, WHOLE, Tape, Timed

ROOT = Path(__file__).parents[2]
HEADINGS = [
    "vectors",
    "graphs and eager steps",
    "latency",
    "throughput",
    "clients",
    "host and device",
    "layers of a step",
]


class Time:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_without_a_gpu_a_small_part_of_everything_runs_and_says_so(tmp_path: Path) -> None:
    """As a person calls it, but for the set-up, which whoever runs this test has behind them."""
    asked = ["make", "--no-print-directory", "-o", "setup", "bench-gpu", f"ARGS=--cpu --out {tmp_path}"]
    ended = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    out, err = ended.stdout, ended.stderr
    assert ended.returncode == 0, err
    assert "without a GPU: this is the small part for a CPU" in err
    assert "qwen3-0.6b: parity" in err
    [page] = tmp_path.glob("*-gpu-on-cpu.md")
    assert page.read_text(encoding="utf-8") in out
    assert "H200" not in out, "small models have no aims"
    found = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert {"gpu", "torch", "flash-attn-4", "commit", "date"} <= set(found["surroundings"])
    for key in SHAPES:
        measured = found["measured"][key]
        assert list(measured) == HEADINGS
        names = [each["name"] for each in measured["vectors"]["of"]]
        assert names == ["eager, torch", "graphs, torch", "eager", "sentence-transformers"]
        assert all(each["captured"] and each["difference"] == 0 for each in measured["graphs and eager steps"])
        assert all(len(times) > 1 for own in measured["latency"].values() for times in own.values())
        # A CPU may have whole blocks as one layer.
        for own in measured["layers of a step"].values():
            assert own[WHOLE] > max(own.get("linear", 0.0), own.get("post_norm", 0.0)) > 0
    assert found["measured"]["failures"] == []


def test_a_wrong_vector_ends_it_with_an_error_that_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = Rose.embed

    def wrong(self: Rose, texts: Any) -> Any:
        rows = right(self, texts)
        return rows[::-1] if self.graphs else rows

    monkeypatch.setattr(Rose, "embed", wrong)
    asked = ["--cpu", "--models", "bge-m3", "--only", "parity", "--out", str(tmp_path)]
    assert command.main(asked) == 1
    assert "- bge-m3: graphs, torch in float32: cosine" in capsys.readouterr().out


def test_a_graph_that_gives_something_else_ends_it_with_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    right, seen = Rose.embed, []

    def drifting(self: Rose, texts: Any) -> Any:
        seen.append(None)
        return right(self, texts) + np.float32(1e-7 * len(seen))

    monkeypatch.setattr(Rose, "embed", drifting)
    asked = ["--cpu", "--models", "qwen3-0.6b", "--only", "graphs", "--out", str(tmp_path)]
    assert command.main(asked) == 1
    assert "a replay differs by" in capsys.readouterr().out


def test_what_there_is_no_time_for_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = model_run.ModelRun(
        "bge-m3", SHAPES["bge-m3"], tmp_path, replace(ON_CPU, device="cuda"), Clock(10.0, Time()), lambda line: None
    )
    monkeypatch.setattr(model_run, "gather", lambda *args: model_run.Field([], None, ["graphs, fa9: not here"]))
    run.do(list(PARTS), [])
    assert run.sections == []
    assert run.clock.left_out == ["bge-m3: graphs, fa9: not here"] + [
        f"bge-m3: {part}: about {needs:.0f} s, 10 s were left" for part, needs in PARTS.items()
    ]


def test_rounds_end_before_the_time_does() -> None:
    time = Time()
    clock = Clock(20.0, time)
    done = []
    for number in clock.rounds("latency", 9, reserve=2.0):
        time.now += 5.0
        done.append(number)
    assert done == [0, 1, 2]
    assert clock.left_out == ["latency: 6 of 9 rounds"]


def test_the_parts_of_all_models_fit_into_the_time_that_there_is_for_them() -> None:
    assert len(SHAPES) * sum(PARTS.values()) < 0.8 * command._SECONDS
    assert command._SECONDS < 600
    assert set(TARGETS) == set(SHAPES)


@pytest.mark.parametrize("scale", [ON_CPU, ON_GPU], ids=["cpu", "gpu"])
def test_batches_whose_graphs_are_compared_are_each_the_first_of_their_size(scale: Any) -> None:
    buckets = Buckets(most_tokens=scale.batch_tokens)
    met = {buckets.fit(1, 1), buckets.fit(sum(scale.checked), len(scale.checked))}
    for tokens, sequences in scale.sizes:
        fit = buckets.fit(tokens, sequences)
        assert fit is not None
        assert fit not in met
        met.add(fit)
        for lengths in (even(tokens, sequences), uneven(tokens, sequences)):
            assert (sum(lengths), len(lengths)) == (tokens, sequences)
            assert 0 < min(lengths) <= max(lengths) <= scale.longest


def test_what_lies_within_something_is_not_counted_for_both() -> None:
    tape = Tape("cpu")
    with tape.span("head"):
        with tape.span("norm"):
            sum(range(10_000))
        with tape.span("norm"):
            sum(range(10_000))
    within = [each.ended - each.began for each in tape.spans[0].within]
    whole = tape.spans[0].ended - tape.spans[0].began
    found = tape.take()
    assert found["norm"] == pytest.approx(1000 * sum(within))
    assert found["head"] == pytest.approx(1000 * (whole - sum(within)))
    assert found[WHOLE] == pytest.approx(1000 * whole)
    assert found[REST] == pytest.approx(0.0, abs=1e-9)
    assert tape.take() == {}


def test_each_call_of_a_layer_is_timed_and_a_kit_still_tells_what_it_is() -> None:
    class Layer:
        width = 3

        def __call__(self, x: int) -> int:
            return x + 1

        def add(self, x: int, *, to: int) -> int:
            return x + to

    tape = Tape("cpu")
    layer: Any = Timed("linear", Layer(), tape)
    assert (layer(1), layer.add(1, to=2), layer.width) == (2, 3, 3)
    assert isinstance(layer, Layer)
    assert [each.what for each in tape.spans] == ["linear", "linear"]


def test_cosines_are_of_the_furthest_row_and_never_of_one_that_is_no_number() -> None:
    rows = np.eye(3, dtype=np.float32)
    assert lowest(rows, rows) == 1.0
    assert lowest(rows[[0, 2, 2]], rows) == 0.0
    assert lowest(rows * np.float32("nan"), rows) == -1.0
    assert likeness(rows[[0, 1, 1]]) == 1.0
    assert likeness(rows) == 0.0


@pytest.mark.parametrize("asked", [["--only", "speed"], ["--models", "bert"], ["--backends", "fa9"]])
def test_a_name_that_is_not_known_is_refused_with_those_that_are(
    asked: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command.main(asked)
    assert ended.value.code == 2
    known = {"--only": PARTS, "--models": SHAPES, "--backends": NAMES}[asked[0]]
    assert all(name in capsys.readouterr().err for name in list(known)[:1])
