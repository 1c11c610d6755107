"""What steps over static buffers do when their device fails: in a capture, for want of memory, or for good."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from graphkit.batches import batch_of
from graphkit.failing import Failing
from tulip_rose.rose.errors import EngineDeadError, StepError, TooLargeError
from tulip_rose.rose.graphs.device import CaptureError


def test_a_failed_capture_leaves_the_key_eager_and_is_counted_and_told(
    folder: Path, load: Any, plain: Any, texts_of: Any, embed: Any, caplog: pytest.LogCaptureFixture
) -> None:
    device = Failing()
    engine, loose = load(folder, device), plain(folder)
    device.captures = CaptureError("a stream was waited for")
    for _ in range(5):
        ids = texts_of([20, 9])
        np.testing.assert_allclose(embed(engine, ids), embed(loose, ids), atol=2e-5)
    counts = engine.framed.counts
    assert (counts.capture_failed, counts.captured) == (1, 0)
    assert [(key.tokens, key.slots) for key in engine.framed.book.refused] == [(32, 8)]
    assert "could not be captured: a stream was waited for" in caplog.text


def test_a_step_without_memory_is_given_back_and_its_size_is_not_tried_again(
    folder: Path, load: Any, texts_of: Any, embed: Any
) -> None:
    device = Failing()
    engine = load(folder, device)
    device.steps = torch.OutOfMemoryError("CUDA out of memory")
    with pytest.raises(TooLargeError, match="2 sequences of 29 tokens: no room in memory"):
        embed(engine, texts_of([20, 9]))
    device.steps = None
    with pytest.raises(TooLargeError, match="had no room in memory before"):
        embed(engine, texts_of([20, 10]))
    assert engine.framed.counts.out_of_memory == 1
    assert engine.graphs.crowded == (("32x8", "CUDA out of memory"),)
    assert embed(engine, texts_of([5])).shape == (1, 32)


def test_a_text_alone_is_tried_again_since_nothing_smaller_can_be_made_of_it(
    folder: Path, load: Any, texts_of: Any, embed: Any
) -> None:
    device = Failing()
    engine = load(folder, device)
    device.steps = torch.OutOfMemoryError("CUDA out of memory")
    with pytest.raises(TooLargeError, match="1 sequences of 20 tokens: no room in memory"):
        embed(engine, texts_of([20]))
    device.steps = None
    assert embed(engine, texts_of([20])).shape == (1, 32)


def test_a_device_that_can_do_nothing_more_ends_the_engine(folder: Path, load: Any, texts_of: Any, embed: Any) -> None:
    device = Failing()
    engine = load(folder, device)
    device.steps = torch.AcceleratorError("an illegal memory access was encountered")
    with pytest.raises(EngineDeadError, match="cpu-graphs failed: an illegal memory access"):
        embed(engine, texts_of([20, 9]))


def test_a_step_that_fails_on_the_stream_fails_alone(folder: Path, load: Any, texts_of: Any, embed: Any) -> None:
    engine = load(folder)
    good = engine.step(batch_of(texts_of([4])))
    engine._device.run(lambda: [][1])
    bad = engine.step(batch_of(texts_of([4])))
    after = engine.step(batch_of(texts_of([4])))
    for _ in range(2):
        assert good.wait(30).array().shape == after.wait(30).array().shape == (1, 32)
        with pytest.raises(StepError, match="IndexError"):
            bad.wait(30)
