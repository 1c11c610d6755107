"""Modules after pooling against those of `SentenceTransformer`."""

from typing import Any

import pytest
from paritykit.measure import parity
from paritykit.sentences import TEXTS, check, expected, load, vectors
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm, Pooling
from torch import nn

HIDDEN = 32
ACTIVATIONS = [nn.Tanh(), nn.Identity(), nn.ReLU(), nn.GELU(), nn.SiLU(), nn.Sigmoid(), nn.Mish(), nn.Softplus()]


@pytest.mark.parametrize("activation", [*ACTIVATIONS, nn.ELU(), nn.LeakyReLU(), None], ids=str)
def test_a_dense_layer_has_the_activation_that_its_file_names(save: Any, activation: nn.Module | None) -> None:
    check(*save([Pooling(HIDDEN), Dense(HIDDEN, 20, activation_function=activation)]))


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("residual", [True, False], ids=["residual", "no residual"])
@pytest.mark.parametrize("out", [HIDDEN, 12, 50])
def test_a_dense_layer_maps_to_any_size(save: Any, out: int, *, bias: bool, residual: bool) -> None:
    check(*save([Pooling(HIDDEN), Dense(HIDDEN, out, bias=bias, use_residual=residual)]))


def plain(into: int, out: int) -> Dense:
    return Dense(into, out, bias=False, activation_function=nn.Identity())


@pytest.mark.parametrize(
    "modules",
    [
        lambda: [Pooling(HIDDEN), Normalize()],
        lambda: [Pooling(HIDDEN), Dense(HIDDEN, 24), Normalize()],
        lambda: [Pooling(HIDDEN), Normalize(), Dense(HIDDEN, 24)],
        lambda: [Pooling(HIDDEN), Normalize(), Dense(HIDDEN, 24), Normalize()],
        lambda: [Pooling(HIDDEN), plain(HIDDEN, 96), plain(96, HIDDEN), Normalize()],
        lambda: [Pooling(HIDDEN), LayerNorm(HIDDEN)],
        lambda: [Pooling(HIDDEN), LayerNorm(HIDDEN), Dense(HIDDEN, 24), Normalize()],
        lambda: [Pooling(HIDDEN), Dense(HIDDEN, 24), LayerNorm(24), Normalize(), Normalize()],
        lambda: [Pooling(HIDDEN), Dropout(0.5), Normalize()],
        lambda: [Pooling(HIDDEN, ("cls", "mean", "max")), Dense(3 * HIDDEN, 24), LayerNorm(24), Normalize()],
    ],
    ids=lambda modules: ", ".join(type(module).__name__ for module in modules()),
)
def test_modules_do_their_work_in_the_order_of_the_file(save: Any, modules: Any) -> None:
    model, folder = save(modules())
    check(model, folder)
    assert load(folder).card.normalize == isinstance(model[-1], Normalize)


def test_a_model_that_cuts_its_vectors_gives_them_cut(save: Any) -> None:
    model, folder = save([Pooling(HIDDEN), Dense(HIDDEN, 24), Normalize()], truncate_dim=8)
    engine = load(folder)
    found = vectors(engine, model)
    assert (engine.card.dimensions, found[0].shape) == (8, (1, 8))
    assert parity(found, expected(model, normalize_embeddings=True)).error <= 1e-5


def test_a_vector_that_a_caller_wants_shorter_is_that_of_the_reference(save: Any) -> None:
    model, folder = save([Pooling(HIDDEN), Dense(HIDDEN, 24), Normalize()])
    engine = load(folder, allowed_dimensions=(10,))
    assert engine.card.allowed_dimensions == (10,)
    cut = expected(model, truncate_dim=10, normalize_embeddings=True)
    assert parity(vectors(engine, model, dimensions=10), cut).error <= 1e-5


def test_rows_are_computed_in_float32_in_a_bfloat16_model(save: Any) -> None:
    model, folder = save([Pooling(HIDDEN), Dense(HIDDEN, 24), LayerNorm(24), Normalize()])
    engine = load(folder, dtype="bfloat16")
    assert parity(vectors(engine, model), expected(model)).cosine >= 0.999


def test_a_text_alone_equals_itself_among_others(save: Any) -> None:
    modules = [Pooling(HIDDEN, ("cls", "weightedmean", "max")), Dense(3 * HIDDEN, 24), LayerNorm(24), Normalize()]
    model, folder = save(modules)
    engine = load(folder)
    alone = [vectors(engine, model, [text])[0] for text in TEXTS]
    assert parity(vectors(engine, model), alone).error <= 1e-6
