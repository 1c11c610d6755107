"""Poolings and modules broken on purpose: the comparison with `SentenceTransformer` sees each break."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from paritykit.breaks import Break, entry, instead
from paritykit.measure import parity
from paritykit.sentences import expected, load, vectors
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling
from torch import Tensor, nn
from tulip_rose.rose import device, facts, heads, pooling, pooling_words
from tulip_rose.rose.layers import head, native, native_block, native_ends
from tulip_rose.rose.pooling_words import Pooling as Own
from tulip_rose.rose.rows import load as rows_load
from tulip_rose.rose.rows.dense import Dense as OwnDense

HIDDEN = 32
FOLDERS: dict[str, Callable[[], list[nn.Module]]] = {
    "cls": lambda: [Pooling(HIDDEN, "cls")],
    "mean": lambda: [Pooling(HIDDEN, "mean")],
    "max": lambda: [Pooling(HIDDEN, "max")],
    "lasttoken": lambda: [Pooling(HIDDEN, "lasttoken")],
    "weightedmean": lambda: [Pooling(HIDDEN, "weightedmean")],
    "mean_sqrt_len_tokens": lambda: [Pooling(HIDDEN, "mean_sqrt_len_tokens")],
    "joined": lambda: [Pooling(HIDDEN, ("mean", "cls", "max")), Dense(3 * HIDDEN, 24)],
    "dense": lambda: [Pooling(HIDDEN), Dense(HIDDEN, 24), Normalize()],
    "GELU": lambda: [Pooling(HIDDEN), Dense(HIDDEN, 24, activation_function=nn.GELU())],
    "residual": lambda: [Pooling(HIDDEN), Dense(HIDDEN, 24, use_residual=True)],
    "normalised first": lambda: [Pooling(HIDDEN), Normalize(), Dense(HIDDEN, 24)],
    "layer norm": lambda: [Pooling(HIDDEN), Dense(HIDDEN, 24), LayerNorm(24), Normalize()],
    "two dense": lambda: [Pooling(HIDDEN), Dense(HIDDEN, HIDDEN), Dense(HIDDEN, HIDDEN)],
    "normalised": lambda: [Pooling(HIDDEN), Normalize()],
}


def pooled(own: Own, other: Callable[[Tensor, Tensor], Tensor]) -> Break:
    """Another way to pool, of tokens [R, L, H] and places [R, L]."""
    return entry(pooling._POOLS, own, lambda _: other)


def several(tokens: Tensor) -> Tensor:
    """At least two: the one token that an engine tries itself with has to pass."""
    return tokens if tokens.shape[1] > 1 else tokens.expand(-1, 2, -1)


def weighted(weights: Callable[[Tensor], Tensor]) -> Break:
    def mean(tokens: Tensor, places: Tensor) -> Tensor:
        own = weights(places.float())[:, :, None]
        return (tokens * own).sum(1) / own.sum(1)

    return pooled(Own.WEIGHTED_MEAN, mean)


def dense(**changes: Any) -> Break:
    """A Dense of which some fields are others."""
    return instead(rows_load, "Dense", lambda plain: lambda *fields: replace(plain(*fields), **changes))


def without(kind: str) -> Break:
    """Modules of that kind left out."""

    def make(plain: Any) -> Any:
        return lambda modules, *rest: plain([module for module in modules if module.kind != kind], *rest)

    return instead(heads, "load_rows", make)


def told(**changes: Any) -> Break:
    """Facts of which some are others."""
    return instead(heads, "read_facts", lambda plain: lambda *args, **more: replace(plain(*args, **more), **changes))


def from_the_end(plain: Any) -> Any:
    return lambda self, poolings, rows=(): plain(self, poolings, tuple(reversed(rows)))


def shape_with(causal: bool, scale_by: float) -> Callable[[Any], Any]:
    def make(plain: Any) -> Any:
        return lambda heads, kv, size, mask, scale: plain(
            heads, kv, size, replace(mask, causal=causal), scale * scale_by
        )

    return make


TORCH: dict[str, tuple[str, Break]] = {
    "cls from the second token": ("cls", pooled(Own.CLS, lambda tokens, _: several(tokens)[:, 1])),
    "cls from the last token": ("cls", pooled(Own.CLS, lambda tokens, _: tokens[:, -1])),
    "mean without the last token": ("mean", pooled(Own.MEAN, lambda tokens, _: several(tokens)[:, :-1].mean(1))),
    "mean without the first token": ("mean", pooled(Own.MEAN, lambda tokens, _: several(tokens)[:, 1:].mean(1))),
    "mean of one token more": ("mean", pooled(Own.MEAN, lambda tokens, _: tokens.sum(1) / (tokens.shape[1] + 1))),
    "mean in bfloat16": ("mean", pooled(Own.MEAN, lambda tokens, _: tokens.bfloat16().mean(1).float())),
    "max of sizes": ("max", pooled(Own.MAX, lambda tokens, _: tokens.abs().amax(1))),
    "max above 0": ("max", pooled(Own.MAX, lambda tokens, _: tokens.amax(1).relu())),
    "last but one": ("lasttoken", pooled(Own.LAST_TOKEN, lambda tokens, _: several(tokens)[:, -2])),
    "last is first": ("lasttoken", pooled(Own.LAST_TOKEN, lambda tokens, _: tokens[:, 0])),
    "weights from 0": ("weightedmean", weighted(lambda places: places + 1e-6)),
    "equal weights": ("weightedmean", weighted(torch.ones_like)),
    "weights the other way": ("weightedmean", weighted(lambda places: places.flip(1) + 1)),
    "weights squared": ("weightedmean", weighted(lambda places: (places + 1) ** 2)),
    "length for its root": (
        "mean_sqrt_len_tokens",
        pooled(Own.MEAN_SQRT_LENGTH, lambda tokens, _: tokens.sum(1) / tokens.shape[1]),
    ),
    "no length": ("mean_sqrt_len_tokens", pooled(Own.MEAN_SQRT_LENGTH, lambda tokens, _: tokens.sum(1))),
    "joined in another order": (
        "joined",
        instead(facts, "of_files", lambda plain: lambda *args: tuple(reversed(plain(*args)))),
    ),
    "words of poolings exchanged": ("max", entry(pooling_words._WORDS, "max", lambda _: Own.MEAN)),
    "no bias": ("dense", dense(bias=None)),
    "no activation": ("dense", dense(activation=lambda rows: rows)),
    "another activation": ("dense", dense(activation=torch.sigmoid)),
    "GELU by tanh": ("GELU", dense(activation=lambda rows: nn.functional.gelu(rows, approximate="tanh"))),
    "nothing added": ("residual", dense(residual=False)),
    "added before the activation": (
        "residual",
        instead(
            OwnDense,
            "__call__",
            lambda _: lambda self, rows: self.activation(rows @ (self.weight + self.residual).T + self.bias),
        ),
    ),
    "no dense layer": ("two dense", without("Dense")),
    "dense layers in another order": ("two dense", instead(head.TorchHead, "__init__", from_the_end)),
    "not normalised first": ("normalised first", without("Normalize")),
    "not normalised": ("normalised", told(normalize=False)),
    "normalised all the same": ("mean", told(normalize=True)),
    "no layer norm": ("layer norm", without("LayerNorm")),
    "another epsilon": ("layer norm", instead(rows_load, "_EPSILON", lambda _: 1e-1)),
}
NATIVE: dict[str, tuple[str, Break]] = {
    "mean for cls": ("cls", entry(native_ends._POOLINGS, Own.CLS, lambda _: 0)),
    "cls for mean": ("mean", entry(native_ends._POOLINGS, Own.MEAN, lambda _: 1)),
    "cls for the last token": ("lasttoken", entry(native_ends._POOLINGS, Own.LAST_TOKEN, lambda _: 1)),
    "causal": ("mean", instead(native_block, "shape_of", shape_with(True, 1.0))),
    "logits a tenth larger": ("mean", instead(native_block, "shape_of", shape_with(False, 1.1))),
    "a larger epsilon": (
        "mean",
        instead(
            native.NativeNorm,
            "__init__",
            lambda plain: lambda self, team, weight, bias, _: plain(self, team, weight, bias, 1e-3),
        ),
    ),
    "not normalised": ("normalised", told(normalize=False)),
}
Equal = Callable[[str], bool]


@pytest.fixture
def equal(save: Any) -> Equal:
    """Whether the engine of a folder is the reference, as the tests of poolings and modules ask it."""

    def ask(name: str) -> bool:
        model, folder = save(FOLDERS[name]())
        found = parity(vectors(load(folder), model), expected(model))
        print(found)
        return found.cosine >= 0.99999 and found.error <= 2e-5

    return ask


@pytest.mark.parametrize("name", FOLDERS)
@pytest.mark.parametrize("native_too", [True, False], ids=["native", "torch"])
def test_unbroken_it_is_the_reference(
    equal: Equal, monkeypatch: pytest.MonkeyPatch, name: str, *, native_too: bool
) -> None:
    if not native_too:
        monkeypatch.setattr(device, "serves", lambda dtype: False)
    assert equal(name)


@pytest.mark.parametrize("name", TORCH)
def test_broken_it_is_not(equal: Equal, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(device, "serves", lambda dtype: False)
    folder, apply = TORCH[name]
    apply(monkeypatch)
    assert not equal(folder)


@pytest.mark.skipif(not device.serves("float32"), reason="a processor without own kernels")
@pytest.mark.parametrize("name", NATIVE)
def test_own_kernels_told_the_wrong_thing_are_found_out(
    equal: Equal, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder, apply = NATIVE[name]
    apply(monkeypatch)
    assert not equal(folder)
