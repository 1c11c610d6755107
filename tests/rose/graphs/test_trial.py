"""The step that is tried when an engine is loaded: what raises there stops the start, in a line that names it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphkit.fake_cuda import FakeCuda, FakeEagerDevice, FakeGraphDevice
from tulip_rose.rose.errors import TrialError
from tulip_rose.rose.graphs.state import NO_GRAPHS
from tulip_rose.rose.options import GraphOptions

REFUSED = RuntimeError("at 3:7:\n  tl.load(starts)\n       ^")
SAID = r"with attention torch a step fails: step not launched: RuntimeError: at 3:7: tl\.load\(starts\) \^$"


@pytest.mark.parametrize("graphs", [True, False], ids=["with graphs", "without"])
def test_a_kernel_that_raises_stops_the_start_in_one_line_that_names_the_attention(
    cuda: FakeCuda, folder: Path, load: Any, *, graphs: bool
) -> None:
    cuda.next = REFUSED
    device = FakeGraphDevice(cuda) if graphs else FakeEagerDevice(cuda)
    with pytest.raises(TrialError, match=f"^{folder}: {SAID}"):
        load(folder, device, graphs=GraphOptions(on_failure="fail"))


def test_one_that_raises_over_static_buffers_alone_leaves_the_engine_without_graphs(
    cuda: FakeCuda, folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any, caplog: pytest.LogCaptureFixture
) -> None:
    cuda.next = REFUSED
    engine, ids = load(folder, FakeGraphDevice(cuda)), texts_of([9, 4])
    assert engine.graphs == NO_GRAPHS
    assert "steps run without graphs: " in caplog.text
    np.testing.assert_allclose(embed(engine, ids), embed(plain(folder), ids), atol=2e-5)
