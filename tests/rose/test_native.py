"""How the kernels are built and chosen; what they compute is tested with the layers."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tulip_rose.rose.device import CpuDevice
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.layers.kit import NativeKit, TorchKit
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.native import build, library
from tulip_rose.rose.native.library import Team, missing
from tulip_rose.rose.options import EngineOptions


@pytest.fixture
def unbuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installation without compiled kernels."""
    monkeypatch.setattr(library, "TARGET", tmp_path / "kernels.so")
    library.library.cache_clear()
    yield
    library.library.cache_clear()


def test_the_kernels_are_built_wherever_there_is_a_compiler() -> None:
    assert shutil.which("g++"), "the tests need g++"
    assert build.TARGET.exists()
    assert missing("float32") in (None, "the processor has no AVX-512")


def test_the_engine_takes_the_kernels_where_the_processor_runs_them(tiny: Path) -> None:
    found = Engine.load(tiny, EngineOptions(dtype="float32")).card.attention_backend
    assert found == ("native" if missing("float32") is None else "torch")


@pytest.mark.usefixtures("unbuilt")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_without_them_torch_does_the_work_and_the_log_says_why(
    tiny: Path, dtype: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    assert Engine.load(tiny, EngineOptions(dtype=dtype)).card.attention_backend == "torch"
    assert "there was no C++ compiler" in caplog.text


def test_torch_attention_can_be_asked_for(tiny: Path) -> None:
    assert Engine.load(tiny, EngineOptions(attention_backend="torch")).card.attention_backend == "torch"


@pytest.mark.parametrize(("variable", "value"), [("CXX", "no-such-compiler"), ("PATH", "/nowhere"), ("CXX", "false")])
def test_a_machine_that_cannot_compile_is_told_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setattr(build, "TARGET", tmp_path / "kernels.so")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv(variable, value)
    with pytest.raises(build.NotBuiltError, match=r"could not be run|no C\+\+ compiler was found|failed"):
        build.build()
    assert list(tmp_path.iterdir()) == []


def test_what_is_newer_than_its_sources_is_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "TARGET", tmp_path / "kernels.so")
    assert [build.build()] == list(tmp_path.iterdir())
    monkeypatch.setenv("CXX", "false")
    assert build.build() == build.TARGET


def test_a_closed_team_leaves_no_thread_and_may_be_closed_twice() -> None:
    if missing("float32"):
        pytest.skip(str(missing("float32")))
    tasks = Path("/proc/self/task")
    before = len(list(tasks.iterdir()))
    team = Team(5)
    assert len(list(tasks.iterdir())) == before + 4
    team.close()
    team.close()
    assert len(list(tasks.iterdir())) == before


def test_no_part_is_lost_or_done_twice_when_there_are_more_threads_than_cores() -> None:
    if missing("float32"):
        pytest.skip(str(missing("float32")))
    teams = [Team(6), Team(6)]
    failures: list[str] = []

    def work(team: Team, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        linear = NativeKit(team, "auto").linear(torch.eye(192), None, Activation.NONE)
        for round_ in range(400):
            x = torch.randn(64, 192, generator=generator)
            if not torch.equal(linear(x), x):
                failures.append(f"round {round_}")

    threads = [threading.Thread(target=work, args=(team, index)) for index, team in enumerate(teams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    for team in teams:
        team.close()
    assert failures == []


def test_a_device_makes_the_kit_for_its_dtype() -> None:
    device = CpuDevice(2)
    expected = NativeKit if missing("bfloat16") is None else TorchKit
    assert isinstance(device.kit("bfloat16", "auto"), expected)
    device.close()
