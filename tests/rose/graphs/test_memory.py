"""What is planned for a step is what a step makes, as far as a CPU can show it: no less, and not many times as much."""

import weakref
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from graphkit.live import most_alive
from graphkit.outputs import OUTPUTS, batch_of
from safetensors.torch import load_file
from torch import Tensor
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.late.tokens import TokensHead
from tulip_rose.rose.layers.head import Head, TorchHead
from tulip_rose.rose.layers.kit import TorchKit
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.plan.heads import StepSize
from tulip_rose.rose.plan.memory import RESULTS, RING, STEPS
from tulip_rose.rose.pooling_words import Pooling
from tulip_rose.rose.rows.dense import Dense
from tulip_rose.rose.scoring.last_kept import LastKeptHead
from tulip_rose.rose.sparse.lexical import LexicalHead
from tulip_rose.rose.sparse.splade import Splade, SpladeHead
from tulip_rose.rose.sparse.vocabulary import VocabularyHead
from tulip_rose.sequence import OutputForm, OutputKind, VectorType

HIDDEN, TERMS, PIECE = 64, 3000, 3000 * 20
CPU = torch.device("cpu")


def dense(out: int, into: int) -> Dense:
    return Dense(out, torch.randn(out, into), torch.randn(out), torch.tanh)


def splade(*, sums: bool) -> SpladeHead:
    kit = TorchKit(CPU, "auto")
    layer, table = (kit.linear(torch.randn(out, HIDDEN), None, Activation.GELU) for out in (HIDDEN, TERMS))
    return SpladeHead(
        VocabularyHead(layer, kit.norm(torch.ones(HIDDEN), None, 1e-12), table, TERMS), Splade(sums, sums), PIECE
    )


HEADS: dict[str, tuple[Head, OutputForm]] = {
    "vectors": (TorchHead((Pooling.MEAN, Pooling.MAX)), OutputForm(2 * HIDDEN)),
    "vectors through layers": (
        TorchHead((Pooling.MEAN,), (dense(300, HIDDEN), dense(50, 300))),
        OutputForm(50, vector_type=VectorType.INT8),
    ),
    "scores": (LastKeptHead(1, (dense(3, HIDDEN),)), OutputForm(3)),
    "terms": (splade(sums=False), OutputForm(TERMS, kind=OutputKind.SPARSE)),
    "largest terms": (splade(sums=True), OutputForm(9, kind=OutputKind.SPARSE)),
    "terms of tokens": (
        LexicalHead(torch.randn(1, HIDDEN), torch.randn(1), 60, torch.tensor([0])),
        OutputForm(60, kind=OutputKind.SPARSE),
    ),
    "vectors of tokens": (TokensHead((dense(128, HIDDEN),)), OutputForm(128, kind=OutputKind.TOKENS)),
}


def inputs_of(form: OutputForm, lengths: list[int]) -> Inputs:
    rng = np.random.default_rng(5)
    return Inputs.of(batch_of([rng.integers(2, 60, length).astype(np.int32) for length in lengths], [form]))


@pytest.mark.parametrize("name", HEADS)
def test_a_head_makes_no_more_at_once_than_it_says_and_about_as_much(name: str) -> None:
    head, form = HEADS[name]
    dtype = torch.float32 if isinstance(head, SpladeHead) else torch.bfloat16
    shares = list[float]()
    for lengths in ([1] * 60, [16] * 16, [200, 56]):
        inputs = inputs_of(form, lengths)
        states = torch.randn(inputs.ragged.tokens, HIDDEN).to(dtype)
        planned = head.needs(StepSize(inputs.ragged.tokens, len(lengths), HIDDEN, dtype.itemsize))
        measured = most_alive(partial(head, states, inputs.parts[0], inputs))
        shares.append(measured / planned.device)
    assert max(shares) <= 1
    assert max(shares) > 0.5


def test_what_is_made_where_something_else_lay_is_counted_as_well() -> None:
    """Memory of others comes and goes while it is counted, as views of arrays do."""
    array = np.ones(1000, np.float32)

    def work() -> list[Tensor]:
        return [torch.from_numpy(array) + 1 for _ in range(20)]

    assert most_alive(work) == 20 * array.nbytes


class Pinning(CpuGraphDevice):
    """Counts the pinned memory that is held."""

    def __init__(self) -> None:
        super().__init__(1)
        self.pinned = 0

    def empty(self, count: int, dtype: torch.dtype, *, pinned: bool = False) -> Tensor:
        memory = super().empty(count, dtype)
        if pinned:
            self.pinned += memory.nbytes
            weakref.finalize(memory, self._give, memory.nbytes)
        return memory

    def _give(self, size: int) -> None:
        self.pinned -= size


@pytest.mark.parametrize("name", [name for name in OUTPUTS if name != "vectors of two forms"])
def test_results_of_the_largest_steps_have_room_in_the_pinned_memory_that_was_planned(
    folder_of: Callable[[str], Path], load: Any, texts_of: Any, name: str
) -> None:
    model, forms_of = OUTPUTS[name]
    device = Pinning()
    engine = load(folder_of(model), device)
    forms, planned = forms_of(engine.card), engine.memory.planned
    for _ in range(STEPS):
        engine.step(batch_of(texts_of([16] * 32), forms)).wait()
    used, behind = device.pinned - planned[RING], forms[0].kind is not OutputKind.DENSE or len(forms) > 1
    assert used <= planned[RESULTS]
    # All that was planned, but for heads that were not asked; heads within the step leave nothing here.
    assert used == (planned[RESULTS] if behind and len(forms) == len(engine.card.outputs) else used)
    assert (used > 0) == behind


def test_a_table_that_the_words_and_the_terms_share_is_held_twice_and_planned_twice(
    folder_of: Callable[[str], Path], load: Any
) -> None:
    folder = folder_of("terms")
    tensors = load_file(folder / "model.safetensors")
    assert not [name for name in tensors if "decoder.weight" in name]
    values = sum(tensor.numel() for tensor in tensors.values())
    table = next(tensor.numel() for name, tensor in tensors.items() if "word_embeddings" in name)
    assert load(folder).memory.planned["weights"] == 4 * (values + table)


@pytest.mark.parametrize("family", ["bert", "xlm-roberta", "mpnet", "modernbert", "nomic", "qwen3", "gemma"])
def test_activations_of_the_largest_step_have_room_in_what_was_planned(
    folders: Callable[[str], Path], load: Any, texts_of: Any, embed: Any, family: str
) -> None:
    engine = load(folders(family))
    planned = engine.memory.planned
    for lengths in ([64] * 8, [16] * 32, [140, 140, 140, 92]):
        made = most_alive(partial(embed, engine, texts_of(lengths)))
        assert 0.5 * planned["activations"] < made <= planned["activations"]
