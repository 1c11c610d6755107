"""What the tests on a cluster put into engines of pods, in an engine of this process: it does what it says."""

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from e2ekit.in_engine import short_device
from e2ekit.in_engine.short_device import NO_ROOM, NOT_CAPTURED, ShortDevice
from graphkit.batches import batch_of
from tulip_rose.rose import engine as engine_module
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import StepError, TooLargeError
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.options import GRAPHS_ON_CPU, EngineOptions
from tulip_rose.tulip.servicer import EmbeddingServicer


def texts(*lengths: int) -> list[Any]:
    return [np.full(length, 5, np.int32) for length in lengths]


def test_of_three_steps_one_raises_one_is_not_finite_and_one_is_late(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner, name in ((Engine, "step"), (EmbeddingServicer, "_embed"), (CpuGraphDevice, "capture")):
        monkeypatch.setattr(owner, name, getattr(owner, name))
    faults = importlib.import_module("e2ekit.in_engine.faults")
    engine = Engine.load(tiny, EngineOptions(device="cpu", threads=1))
    monkeypatch.setattr(faults, "told", lambda fault: fault == "misbehave")
    monkeypatch.setattr(faults, "LATE_S", 0.0)
    for _ in range(2):
        with pytest.raises(StepError, match="told to fail"):
            faults.faulty_step(engine, batch_of(texts(3, 7))).wait(30)
        spoiled = faults.faulty_step(engine, batch_of(texts(3, 7))).wait(30)
        assert [spoiled.failed(0), spoiled.failed(1)] == [(0,), (0,)]
        late = faults.faulty_step(engine, batch_of(texts(3, 7))).wait(30)
        assert [late.failed(0), late.failed(1)] == [(), ()]


def test_a_short_device_refuses_one_size_and_has_no_room_for_another(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(short_device, "SLOW_S", 0.0)
    monkeypatch.setattr(engine_module, "open_device", lambda *_: ShortDevice(1))
    engine = Engine.load(tiny, EngineOptions(device=GRAPHS_ON_CPU))
    for _ in range(2):
        assert not engine.step(batch_of(texts(64, 64, 60))).wait(30).failed(0)
    assert [size for size, _ in engine.graphs.failures] == [f"{NOT_CAPTURED}x8"]
    with pytest.raises(TooLargeError, match="no room in memory"):
        engine.step(batch_of(texts(64, 64, 64, 60)))
    assert [size for size, _ in engine.graphs.crowded] == [f"{NO_ROOM}x8"]
