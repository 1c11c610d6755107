"""How the kernels are built and chosen; what they compute is tested with the layers."""

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from graphkit.batches import ragged_of
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.device import CpuDevice
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.layers.attention import Mask
from tulip_rose.rose.layers.block import PostNormBlock
from tulip_rose.rose.layers.kit import NativeKit, TorchKit
from tulip_rose.rose.layers.linear import Activation, Linear
from tulip_rose.rose.layers.native_block import NativePostNorm
from tulip_rose.rose.layers.norm import Norm
from tulip_rose.rose.native import library, recipe
from tulip_rose.rose.native.library import Team, missing
from tulip_rose.rose.options import EngineOptions
from tulip_rose.sequence import OutputForm, Sequence

import native_build


@pytest.fixture
def unbuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installation without compiled kernels."""
    monkeypatch.setattr(library, "TARGET", tmp_path / "kernels.so")
    forget()
    yield
    forget()


def forget() -> None:
    """What was loaded."""
    library.library.cache_clear()
    library.layout.cache_clear()


def test_the_kernels_are_built_wherever_there_is_a_compiler() -> None:
    assert shutil.which("g++"), "the tests need g++"
    assert recipe.TARGET.exists()
    assert missing("float32") in (None, "the processor has no AVX-512")


def test_kernels_of_other_sources_are_not_used(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(library, "digest", lambda: "0123456789abcdef")
    library.library.cache_clear()
    try:
        assert library.library() is None
        assert "not from these sources" in str(missing("float32"))
        assert "compiled from other sources" in caplog.text
    finally:
        library.library.cache_clear()


def test_on_another_processor_batches_are_laid_out_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recipe.platform, "machine", lambda: "aarch64")
    for module in (recipe, library):
        monkeypatch.setattr(module, "TARGET", tmp_path / "kernels.so")
    native_build.build(recipe)
    forget()
    try:
        assert missing("float32") == "the processor has no AVX-512"
        assert library.layout() is not None
        assert not hasattr(library.library(), "rose_linear")
        batch = Batch.pack([Sequence.whole(np.arange(size, dtype=np.int32), OutputForm(4)) for size in (3, 2)])
        assert batch.token_ids.tolist() == [0, 1, 0, 1, 2]
    finally:
        forget()


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
    assert "it takes a C++ compiler" in caplog.text


def test_torch_attention_can_be_asked_for(tiny: Path) -> None:
    assert Engine.load(tiny, EngineOptions(attention_backend="torch")).card.attention_backend == "torch"


@pytest.mark.parametrize(("variable", "value"), [("CXX", "no-such-compiler"), ("PATH", "/nowhere"), ("CXX", "false")])
def test_a_machine_that_cannot_compile_is_told_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setattr(recipe, "TARGET", tmp_path / "kernels.so")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv(variable, value)
    with pytest.raises(native_build.NotBuiltError, match=r"could not be run|no C\+\+ compiler was found|failed"):
        native_build.build(recipe)
    assert list(tmp_path.iterdir()) == []


def test_what_is_newer_than_its_sources_is_not_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "TARGET", tmp_path / "kernels.so")
    assert [native_build.build(recipe)] == list(tmp_path.iterdir())
    monkeypatch.setenv("CXX", "false")
    assert native_build.build(recipe) == recipe.TARGET


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


@pytest.mark.parametrize("size", [16, 32, 48])
def test_a_block_in_one_call_gives_what_its_layers_give_one_by_one(dtype: torch.dtype, size: int) -> None:
    if missing("bfloat16"):
        pytest.skip(str(missing("bfloat16")))
    torch.manual_seed(4)
    team = Team(3)
    parts = block_parts(NativeKit(team, "auto"), size, dtype)
    block = NativeKit(team, "auto").post_norm(parts)
    assert isinstance(block, NativePostNorm)
    for lengths in ([1], [3, 3, 20], [1, 5, 17, 100, 300]):
        ragged = ragged_of(lengths)
        x = torch.randn(ragged.tokens, 4 * size).to(dtype)
        kept = x.clone()
        assert torch.equal(block(x, ragged), parts(x, ragged))
        assert torch.equal(x, kept)
    team.close()


def test_heads_that_the_kernels_do_not_take_are_left_to_the_layers() -> None:
    if missing("float32"):
        pytest.skip(str(missing("float32")))
    team = Team(1)
    kit = NativeKit(team, "auto")
    parts = block_parts(kit, 8, torch.float32)
    assert kit.post_norm(parts) is parts
    team.close()


def block_parts(kit: NativeKit, size: int, dtype: torch.dtype) -> PostNormBlock:
    """A block of four heads, with every part of it random."""
    hidden, inner = 4 * size, 40

    def linear(out: int, into: int, activation: Activation = Activation.NONE) -> Linear:
        weight = torch.randn(out, into).mul(into**-0.5).to(dtype)
        return kit.linear(weight, torch.randn(out).to(dtype), activation)

    def norm() -> Norm:
        return kit.norm(torch.randn(hidden).to(dtype), torch.randn(hidden).to(dtype), 1e-6)

    return PostNormBlock(
        qkv=linear(3 * hidden, hidden),
        out=linear(hidden, hidden),
        attention_norm=norm(),
        up=linear(inner, hidden, Activation.GELU),
        down=linear(hidden, inner),
        output_norm=norm(),
        attention=kit.attention,
        heads=4,
        size=size,
        mask=Mask(window=(30, 30)),
        scale=0.2,
    )
