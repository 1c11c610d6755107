"""Whole models of Triton's layers: those of torch's, in steps over static buffers with pads that are no numbers."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from kernelkit.models import HIDDEN, VOCABULARY
from numpy.typing import NDArray
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions
from tulip_rose.sequence import OutputForm, Sequence, VectorType, Want

FAMILIES = ["bert", "qwen3", "modernbert", "xlm-roberta", "nomic", "gemma"]
LENGTHS = [[7, 3], [17, 5, 9], [6, 4]]
COSINE = {"float32": 0.999999, "bfloat16": 0.999}


Load = Callable[[Path, torch.device, str], Engine]


def texts_of(lengths: list[int]) -> list[NDArray[np.int32]]:
    rng = np.random.default_rng(sum(lengths))
    return [rng.integers(1, VOCABULARY, length).astype(np.int32) for length in lengths]


def embed(engine: Engine, ids: list[NDArray[np.int32]], form: OutputForm | None = None) -> NDArray[np.float32]:
    batch = Batch.pack([Sequence.whole(own, form or engine.card.form()) for own in ids])
    return engine.step(batch).wait(60).array()


def poison(engine: Engine) -> None:
    """Make the word of pads, which no text has, none that is a number."""
    model = engine._model
    words = model._embedding._words if hasattr(model, "_embedding") else model._words
    with torch.inference_mode():
        words[0] = float("nan")


@pytest.mark.parametrize(
    ("family", "precision"),
    [*((family, "float32") for family in FAMILIES), *((family, "bfloat16") for family in FAMILIES[:3])],
)
def test_a_model_of_these_layers_gives_the_vectors_of_torchs_and_pads_reach_none(
    folders: Callable[[str], Path], load: Load, device: torch.device, family: str, precision: str
) -> None:
    folder = folders(family)
    own, plain = load(folder, device, precision), Engine.load(folder, EngineOptions(device="cpu", threads=1))
    poison(own)
    for lengths in LENGTHS:
        ids = texts_of(lengths)
        cosines = (embed(own, ids) * embed(plain, ids)).sum(1)
        assert cosines.min() >= COSINE[precision]


@pytest.mark.parametrize("family", ["bert", "qwen3"])
@pytest.mark.parametrize("vector_type", [VectorType.INT8, VectorType.BINARY])
def test_quantised_rows_of_a_model_are_those_of_torchs(
    folders: Callable[[str], Path], load: Load, device: torch.device, family: str, vector_type: VectorType
) -> None:
    folder, form = folders(family), OutputForm(HIDDEN - 3, vector_type=vector_type)
    own, plain = load(folder, device, "float32"), Engine.load(folder, EngineOptions(device="cpu", threads=1))
    ids = texts_of([7, 3, 20])
    found, wanted = embed(own, ids, form), embed(plain, ids, form)
    assert found.dtype == wanted.dtype
    assert (found == wanted).mean() > 0.98


def test_rows_of_several_forms_are_made_behind_the_step(
    folders: Callable[[str], Path], load: Load, device: torch.device
) -> None:
    folder, forms = folders("bert"), [OutputForm(HIDDEN), OutputForm(5, normalize=False)]
    own, plain = load(folder, device, "float32"), Engine.load(folder, EngineOptions(device="cpu", threads=1))
    wants = tuple(Want(((0, 4), (2, 9)), form) for form in forms)
    found, wanted = (
        engine.step(Batch.pack([Sequence(ids, wants, 0.0, 1.0) for ids in texts_of([9, 12])])).wait(60)
        for engine in (own, plain)
    )
    for sequence in range(2):
        for want in range(2):
            np.testing.assert_allclose(found.of(sequence, want), wanted.of(sequence, want), atol=2e-5)
