"""Steps over static buffers broken on purpose: a test of this folder sees each break."""

from pathlib import Path

import pytest
from graphkit.breaks import BREAKS as STEPS
from graphkit.cuda_breaks import CUDA_BREAKS
from paritykit.rewritten import is_seen, rewrite_method, runs
from tulip_rose.rose.errors import RoseError

HERE = Path(__file__).parent
BREAKS = STEPS | CUDA_BREAKS
TESTS = {f"{each.seen.test} {sorted(map(str, each.seen.given.items()))}": each.seen for each in BREAKS.values()}


@pytest.mark.parametrize("name", TESTS)
def test_unbroken_each_test_passes(request: pytest.FixtureRequest, name: str) -> None:
    runs(HERE, TESTS[name], request)()


@pytest.mark.parametrize("name", BREAKS)
def test_what_is_broken_is_seen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    each = BREAKS[name]
    rewrite_method(monkeypatch, each.where, each.words)
    assert is_seen(runs(HERE, each.seen, request), also=(RoseError, KeyError, ValueError))
