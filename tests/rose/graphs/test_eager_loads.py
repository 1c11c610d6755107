"""What eager steps on CUDA read of the host: it goes by way of pinned memory, since nobody may wait for its copy."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from graphkit.batches import ragged_of
from graphkit.fake_cuda import FakeCuda, FakeEagerDevice
from torch import Tensor
from tulip_rose.rose.backends.borders import Borders
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.inputs import Inputs
from tulip_rose.sequence import OutputForm, Sequence

ELSEWHERE = torch.device("meta")
"""Where nothing of a batch lies, so that all that it is asked for is loaded."""


@pytest.mark.parametrize(
    "given",
    [torch.arange(7), torch.arange(6, dtype=torch.int32).view(3, 2), torch.tensor([1, 2], dtype=torch.uint8)],
    ids=["ids", "bounds", "types"],
)
def test_what_is_loaded_is_copied_to_pinned_memory_and_from_there_in_one_call_each(
    cuda: FakeCuda, given: Tensor
) -> None:
    found = FakeEagerDevice(cuda).load(given)
    assert found.dtype == given.dtype
    assert torch.equal(found, given)
    assert found.data_ptr() != given.data_ptr()
    assert cuda.asked == {"pinned": 1, "beside": 1}


@pytest.mark.parametrize(("seen", "loads"), [(None, 1), ([2, 3], 2)], ids=["all seen", "some unseen"])
def test_borders_of_sequences_are_loaded_once_each(cuda: FakeCuda, seen: list[int] | None, loads: int) -> None:
    ragged = replace(ragged_of([2, 5], seen or ()), load=FakeEagerDevice(cuda).load)
    borders = Borders.of(ragged, ELSEWHERE)
    assert cuda.asked == {"pinned": loads, "beside": loads}
    assert borders.starts.tolist() == [0, 2, 7]
    assert (None if borders.seen is None else borders.seen.tolist()) == seen


def test_a_batch_brings_ids_at_once_and_what_heads_and_attention_ask_for_when_they_do(cuda: FakeCuda) -> None:
    texts = [Sequence.whole(np.arange(size, dtype=np.int32), OutputForm(8)) for size in (5, 2)]
    inputs = Inputs.of(Batch.pack(texts)).to(ELSEWHERE, FakeEagerDevice(cuda).load)
    assert cuda.asked["beside"] == 2
    assert inputs.token_ids.tolist() == [0, 1, 0, 1, 2, 3, 4]
    assert inputs.positions.tolist() == [0, 1, 0, 1, 2, 3, 4]
    for _ in range(2):
        assert inputs.parts[0].placed.tolist() == [[0, 2], [2, 7]]
    assert Borders.of(inputs.ragged, ELSEWHERE).starts.tolist() == [0, 2, 7]
    assert cuda.asked == {"pinned": 4, "beside": 4}
