"""Norms, and the adds and tables that come before them, against the definition in float64."""

from collections.abc import Callable
from math import nan

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.kernels.kit import TritonKit
from tulip_rose.rose.layers.places import Place, Places, in_order
from tulip_rose.rose.layers.rope import Turn
from tulip_rose.rose.layers.rotary import SandwichBlock
from tulip_rose.sequence import OutputForm, Sequence, Want

Near = Callable[[Tensor, Tensor], None]
SHAPES = [(1, 32), (3, 5), (17, 48), (2, 384), (3, 1000)]
EPSILON = 1e-3


def norm_of(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return functional.layer_norm(x, x.shape[-1:], weight.double(), None if bias is None else bias.double(), EPSILON)


def root_norm_of(x: Tensor, weight: Tensor) -> Tensor:
    return x / (x.square().mean(-1, keepdim=True) + EPSILON).sqrt() * weight.double()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("plus", [True, False])
@pytest.mark.parametrize(("rows", "size"), SHAPES)
def test_a_layer_norm_of_a_sum_is_that_of_the_definition(
    kit: TritonKit,
    device: torch.device,
    dtype: torch.dtype,
    near: Near,
    rows: int,
    size: int,
    *,
    plus: bool,
    bias: bool,
) -> None:
    x, y = (torch.randn(rows, size, device=device).mul(3).add(1).to(dtype) for _ in range(2))
    weight, own = (torch.randn(size, device=device).to(dtype) for _ in range(2))
    found = kit.norm(weight, own if bias else None, EPSILON)(x, y if plus else None)
    assert found.dtype == dtype
    near(found, norm_of(x.double() + y.double() if plus else x.double(), weight, own if bias else None))


@pytest.mark.parametrize("plus", [True, False])
@pytest.mark.parametrize(("rows", "size"), SHAPES)
def test_a_root_norm_with_weights_of_one_and_a_little_keeps_the_little(
    kit: TritonKit, device: torch.device, dtype: torch.dtype, near: Near, rows: int, size: int, *, plus: bool
) -> None:
    x, y = (torch.randn(rows, size, device=device).to(dtype) for _ in range(2))
    weight = torch.randn(size, device=device) / 1000 + 1
    found = kit.rms_norm(weight, EPSILON)(x, y if plus else None)
    near(found, root_norm_of(x.double() + y.double() if plus else x.double(), weight))


@pytest.mark.parametrize("root", [True, False])
def test_a_row_that_is_no_number_changes_no_other_and_what_goes_in_is_kept(
    kit: TritonKit, device: torch.device, dtype: torch.dtype, *, root: bool
) -> None:
    x, y = (torch.randn(5, 48, device=device).to(dtype) for _ in range(2))
    weight = torch.ones(48, device=device)
    norm = kit.rms_norm(weight, EPSILON) if root else kit.norm(weight.to(dtype), None, EPSILON)
    clean = norm(x, y)
    x[[1, 4]] = nan
    kept = x.clone()
    found = norm(x, y)
    assert torch.equal(found[[0, 2, 3]], clean[[0, 2, 3]])
    assert found[[1, 4]].isnan().all()
    assert torch.equal(x, kept) or torch.equal(x.nan_to_num(), kept.nan_to_num())


@pytest.mark.parametrize("size", [16, 24, 1000])
def test_gemmas_block_is_that_of_its_parts(
    kit: TritonKit, device: torch.device, dtype: torch.dtype, near: Near, size: int
) -> None:
    x, states, ready = (torch.randn(5, size, device=device).to(dtype) for _ in range(3))
    attended, feed, fed, plain = (torch.rand(size, device=device) + 0.5 for _ in range(4))
    seen: list[Tensor] = []

    def keep(normed: Tensor) -> Tensor:
        seen.append(normed)
        return ready

    norms = [kit.rms_norm(weight, EPSILON) for weight in (attended, feed, fed, plain)]
    parts = SandwichBlock(
        norms[3], lambda *_: states, lambda made: made, norms[0], norms[1], keep, lambda made: made, norms[2]
    )
    found = kit.sandwich(parts)(x, None, Turn(x, x))
    middle = x.double() + root_norm_of(states.double(), attended)
    near(seen[0], root_norm_of(middle, feed))
    near(found, middle + root_norm_of(ready.double(), fed))


def inputs_of(lengths: list[int], *, typed: bool = False, vocabulary: int = 50) -> Inputs:
    rng = np.random.default_rng(3)
    texts = [
        Sequence(
            rng.integers(2, vocabulary, length).astype(np.int32),
            (Want(((0, 1),), OutputForm(4)),),
            0.0,
            1.0,
            rng.integers(0, 2, length).astype(np.uint8) if typed else None,
        )
        for length in lengths
    ]
    return Inputs.of(Batch.pack(texts))


PLACES: list[tuple[Place, bool]] = [
    (in_order, False),
    (Places(30), False),
    (Places(30, 2), True),
    (Places(30, 2), False),
    (Places(30, 1), True),
    (Places(30, padding=1), False),
    (Places(30, 2, padding=1), True),
]


def on(device: torch.device, inputs: Inputs) -> Inputs:
    return inputs.to(device, lambda tensor: tensor.to(device))


@pytest.mark.parametrize("size", [16, 40])
@pytest.mark.parametrize(("place", "typed"), PLACES, ids=str)
def test_first_states_are_the_norm_of_word_position_and_type(
    kit: TritonKit, device: torch.device, dtype: torch.dtype, near: Near, place: Place, size: int, *, typed: bool
) -> None:
    words, places = torch.randn(50, size, device=device).to(dtype), torch.randn(60, size, device=device).to(dtype)
    weight, bias = (torch.randn(size, device=device).to(dtype) for _ in range(2))
    inputs = on(device, inputs_of([1, 3, 3, 11], typed=typed))
    found = kit.embedding(words, places, kit.norm(weight, bias, EPSILON), place)(inputs)
    total = words[inputs.token_ids].double() + places[place(inputs)].double()
    near(found, norm_of(total, weight, bias))


@pytest.mark.parametrize("wrong", [-1, 50, 2**40])
def test_an_id_in_no_table_makes_its_own_row_no_number_and_no_other(
    kit: TritonKit, device: torch.device, wrong: int
) -> None:
    tables = torch.randn(50, 16, device=device), torch.randn(30, 16, device=device)
    embedding = kit.embedding(*tables, kit.norm(torch.ones(16, device=device), None, EPSILON))
    inputs = on(device, inputs_of([2, 5]))
    clean = embedding(inputs)
    inputs.token_ids[3] = wrong
    found = embedding(inputs)
    assert found[3].isnan().all()
    assert torch.equal(torch.cat((found[:3], found[4:])), torch.cat((clean[:3], clean[4:])))


def test_a_place_in_no_table_is_no_number_and_a_text_that_is_too_long_an_error(
    kit: TritonKit, device: torch.device
) -> None:
    tables = torch.randn(50, 16, device=device), torch.randn(4, 16, device=device)
    norm = kit.norm(torch.ones(16, device=device), None, EPSILON)
    inputs = on(device, inputs_of([6]))
    assert kit.embedding(*tables, norm)(inputs).isnan().all(dim=1).tolist() == [False] * 4 + [True] * 2
    with pytest.raises(IndexError, match="6 tokens in a model of 4"):
        kit.embedding(*tables, norm, Places(4))(inputs)
