"""Room for a model: what is planned is what is taken, and what does not fit stops the load with its numbers."""

from collections import Counter
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from tulip_rose.rose import room as room_module
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.graphs.arena import Arena, Widths
from tulip_rose.rose.graphs.key import Buckets
from tulip_rose.rose.graphs.slot import Slot
from tulip_rose.rose.options import GRAPHS_ON_CPU, EngineOptions, GraphOptions
from tulip_rose.rose.plan.memory import (
    DEVICE_PARTS,
    GRAPH_BYTES,
    MIB,
    PINNED_PARTS,
    RESERVE_BYTES,
    STEPS,
    Needs,
    Shape,
    plan_memory,
)
from tulip_rose.tulip.metrics import Metrics

GRAPHS = EngineOptions(device=GRAPHS_ON_CPU, graphs=GraphOptions(most_tokens=4096, most=4))
SHAPE = Shape(32, 48, 32, 32)


class Taken:
    """A device that counts the memory that it is asked for."""

    def __init__(self) -> None:
        self.bytes: Counter[str] = Counter()

    def empty(self, count: int, dtype: torch.dtype, *, pinned: bool = False) -> Tensor:
        self.bytes["pinned" if pinned else "device"] += count * dtype.itemsize
        return torch.empty(count, dtype=dtype)


@pytest.mark.parametrize("buckets", [Buckets(), Buckets(16, (2, 7), 300), Buckets(128, (2, 4096), 20_000)], ids=repr)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_buffers_and_ring_are_planned_to_the_byte(buckets: Buckets, dtype: torch.dtype) -> None:
    taken, widths = Taken(), Widths(hidden=32, dtype=dtype, dimensions=24, longest=128, typed=True)
    Arena(taken, buckets, widths)
    for _ in range(STEPS):
        Slot(taken, buckets, widths)
    plan = plan_memory(Needs(0, SHAPE, dtype.itemsize, 24, buckets, 1))
    assert taken.bytes == {"device": plan.device["buffers"], "pinned": plan.ring}


def test_an_engine_says_what_it_planned(tiny: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        Engine.load(tiny, GRAPHS).close()
    [line] = [record.getMessage() for record in caplog.records if record.getMessage().startswith("memory: ")]
    assert "of the device (weights 0.00 GiB, activations 0.0" in line


def test_what_was_planned_is_told_as_metrics(tiny: Path) -> None:
    engine, metrics = Engine.load(tiny, GRAPHS), Metrics()
    metrics.watch_memory(engine.memory)
    planned = {
        part: metrics.registry.get_sample_value("trellis_engine_memory_planned_bytes", {"part": part})
        for part in (*DEVICE_PARTS, *PINNED_PARTS)
    }
    assert planned == engine.memory.planned
    values = sum(values.numel() for values in load_file(tiny / "model.safetensors").values())
    assert planned["weights"] == 4 * values
    assert planned["graphs"] == 4 * GRAPH_BYTES + planned["activations"] > 4 * GRAPH_BYTES
    assert metrics.registry.get_sample_value("trellis_engine_memory_used_bytes") == 0
    engine.close()


@pytest.mark.parametrize(
    ("free", "text"),
    [
        (100 * MIB, "the device has 0.10 GiB for it: not even batches of 1 tokens"),
        (RESERVE_BYTES + 66 * MIB, r"the device has 1\.06 GiB for it: batches of at most \d+ tokens would fit"),
    ],
)
def test_what_does_not_fit_stops_the_load(tiny: Path, monkeypatch: pytest.MonkeyPatch, free: int, text: str) -> None:
    monkeypatch.setattr(room_module, "free_bytes", lambda device: free)
    with pytest.raises(LoadError, match=text):
        Engine.load(tiny, GRAPHS)


def test_what_fits_is_loaded(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_module, "free_bytes", lambda device: 2 * RESERVE_BYTES)
    Engine.load(tiny, GRAPHS).close()


def test_without_graphs_nothing_is_planned(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_module, "free_bytes", lambda device: 0)
    Engine.load(tiny, EngineOptions(device="cpu")).close()
