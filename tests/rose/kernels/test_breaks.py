"""Kernels broken on purpose: a test of this folder sees each break."""

from pathlib import Path

import pytest
from kernelkit.breaks import BREAKS, LAYERS, MODEL
from paritykit.rewritten import is_seen, rewrite_kernel, rewrite_method, runs

HERE = Path(__file__).parent
TESTS = {f"{each.seen.test} {sorted(map(str, each.seen.given.items()))}": each.seen for each in BREAKS.values()}


@pytest.mark.parametrize("name", TESTS)
def test_unbroken_each_test_passes(request: pytest.FixtureRequest, name: str) -> None:
    runs(HERE, TESTS[name], request)()


@pytest.mark.parametrize("name", BREAKS)
def test_a_kernel_that_is_broken_is_seen(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    each = BREAKS[name]
    rewrite_kernel(monkeypatch, each.module, each.kernel, each.words, tmp_path)
    assert is_seen(runs(HERE, each.seen, request))


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_that_is_broken_is_seen(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    rewrite_method(monkeypatch, *LAYERS[name])
    request.applymarker(pytest.mark.filterwarnings("ignore::RuntimeWarning"))
    assert is_seen(runs(HERE, MODEL, request))
