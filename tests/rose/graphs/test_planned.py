"""Attention that has to be planned before each step of a graph."""

from pathlib import Path
from typing import Any

import numpy as np
from graphkit.batches import FORM
from torch import Tensor
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.graphs.kit import FrameKit, OffsetsAttention
from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.layers.attention import Mask
from tulip_rose.sequence import Sequence, Want


class Planning(OffsetsAttention):
    """Has to know where sequences begin before each step, and takes no text with tokens that nobody sees."""

    def __init__(self, device: CpuGraphDevice) -> None:
        super().__init__()
        self.device, self.planned, self.attended = device, list[list[int]](), list[list[int]]()

    def plan_ahead(self, starts: Tensor) -> None:
        self.planned.append(starts.tolist())

    def suits(self, *, partly: bool) -> bool:
        return not partly

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, ragged: Ragged, mask: Mask, scale: float) -> Tensor:
        if ragged.seen is not None:
            self.attended.append(ragged.starts.tolist())
        return super().__call__(q, k, v, ragged, mask, scale)


def test_attention_that_is_planned_is_planned_once_before_each_step_and_what_it_does_not_suit_takes_no_graph(
    folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any
) -> None:
    device = CpuGraphDevice(1)
    planning = Planning(device)
    kit = FrameKit(device.torch_device, "auto")
    kit.attention = planning
    device.kit = lambda dtype, attention: kit  # type: ignore[method-assign]
    engine, loose = load(folder, device), plain(folder)
    for _ in range(4):
        ids = texts_of([5, 4])
        np.testing.assert_allclose(embed(engine, ids), embed(loose, ids), atol=2e-5)
    layers = len(planning.attended) // len(planning.planned)
    assert planning.planned == planning.attended[::layers]
    assert planning.planned[1:] == [[0, 4, 9, *[16] * 6]] * 4
    before = engine.graphs
    batch = Batch.pack([Sequence(own, (Want(((0, 2),), FORM),), 0.0, 1.0, unseen=1) for own in texts_of([5, 4])])
    found, expected = (each.step(batch).wait(30).array() for each in (engine, loose))
    np.testing.assert_allclose(found, expected, atol=2e-5)
    assert engine.graphs == before
