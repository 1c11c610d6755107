"""Whose stream a thread is on when a device of CUDA puts something there, over a GPU that is not there."""

from pathlib import Path
from threading import Thread, local
from typing import Any

import numpy as np
import pytest
from graphkit.fake_cuda import FakeCuda, FakeEagerDevice, FakeGraphDevice
from tulip_rose.rose import cuda_device
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.graphs.cuda_device import CudaGraphDevice

ERROR = 2e-5


def test_each_thread_that_launches_does_so_on_the_stream_of_the_device(
    cuda: FakeCuda, engine: Engine, plain: Any, folder: Path, texts_of: Any, embed: Any
) -> None:
    ids, found = texts_of([9]), list[Any]()
    # One after the other: a thread may get the number of one that has ended.
    for _ in range(5):
        thread = Thread(target=lambda: found.append(embed(engine, ids)))
        thread.start()
        thread.join(30)
    assert len(found) == 5
    for rows in found:
        np.testing.assert_allclose(rows, embed(plain(folder), ids), atol=ERROR)


@pytest.mark.parametrize("graphs", [True, False], ids=["with graphs", "without"])
def test_engines_that_take_turns_in_one_thread_each_keep_to_their_own_stream(
    folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any, *, graphs: bool
) -> None:
    current, device = local(), FakeGraphDevice if graphs else FakeEagerDevice
    engines, loose = [load(folder, device(FakeCuda(current))) for _ in range(2)], plain(folder)
    # Eager, captured, replayed.
    for _ in range(3):
        for engine in engines:
            ids = texts_of([9, 4])
            np.testing.assert_allclose(embed(engine, ids), embed(loose, ids), atol=ERROR)


def test_what_one_device_does_without_a_mark_leaves_the_thread_to_another(
    folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any
) -> None:
    current = local()
    one, other = (load(folder, FakeGraphDevice(FakeCuda(current))) for _ in range(2))
    for _ in range(3):
        one.framed._device.run(lambda: None)
        ids = texts_of([9, 4])
        np.testing.assert_allclose(embed(other, ids), embed(plain(folder), ids), atol=ERROR)


@pytest.mark.parametrize("graphs", [True, False], ids=["with graphs", "without"])
def test_a_thread_that_has_set_a_stream_of_its_own_launches_on_that_of_the_device(
    cuda: FakeCuda, folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any, *, graphs: bool
) -> None:
    engine, loose = load(folder, FakeGraphDevice(cuda) if graphs else FakeEagerDevice(cuda)), plain(folder)
    for _ in range(3):
        cuda.use(cuda.stream())
        ids = texts_of([9, 4])
        np.testing.assert_allclose(embed(engine, ids), embed(loose, ids), atol=ERROR)


def test_a_device_that_is_given_its_kit_leaves_no_other_where_it_was_said_to_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda_device, "wanting", lambda: "the package triton is not installed")
    current = local()
    one, other = (CudaGraphDevice(FakeCuda(current)) for _ in range(2))
    one.run(lambda: None)
    other.kit("bfloat16", "auto")
    assert current.stream is other._stream
    one.run(lambda: None)
    assert current.stream is one._stream
