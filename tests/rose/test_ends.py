"""Both ends of a model: from ids to first states, and from last states to rows."""

import numpy as np
import pytest
import torch
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.layers.head import TorchHead
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.pooling_words import Pooling
from tulip_rose.sequence import OutputForm, Sequence, VectorType, Want

LENGTHS = [1, 3, 3, 70, 200]
UNIT, CUT, PLAIN = OutputForm(40), OutputForm(24), OutputForm(40, normalize=False)
INT8 = OutputForm(40, vector_type=VectorType.INT8)


def inputs_of(*forms: OutputForm, vocabulary: int = 50) -> Inputs:
    rng = np.random.default_rng(3)
    texts = []
    for index, length in enumerate(LENGTHS):
        ids = rng.integers(0, vocabulary, length).astype(np.int32)
        spans = ((0, length),) if index % 2 else ((0, length), (length // 2, length))
        texts.append(Sequence(ids, (Want(spans, forms[index % len(forms)]),), arrival=0.0, deadline=1.0))
    return Inputs.of(Batch.pack(texts))


def test_first_states_are_the_norm_of_word_and_position(kit: Kit, dtype: torch.dtype) -> None:
    torch.manual_seed(1)
    words, positions = torch.randn(50, 40).to(dtype), torch.randn(256, 40).to(dtype)
    weight, bias = torch.randn(40).to(dtype), torch.randn(40).to(dtype)
    inputs = inputs_of(UNIT)
    found = kit.embedding(words, positions, kit.norm(weight, bias, 1e-6))(inputs)
    total = words[inputs.token_ids].double() + positions[inputs.positions].double()
    expected = torch.nn.functional.layer_norm(total, (40,), weight.double(), bias.double(), 1e-6)
    assert found.dtype == dtype
    assert (found.double() - expected).abs().max() < (1e-5 if dtype == torch.float32 else 5e-2)


@pytest.mark.parametrize("wrong", [-1, 50, 2**31 - 1])
def test_an_id_in_no_table_is_an_error_and_no_memory_of_others(kit: Kit, wrong: int) -> None:
    embedding = kit.embedding(torch.randn(50, 16), torch.randn(256, 16), kit.norm(torch.ones(16), None, 1e-6))
    inputs = inputs_of(UNIT)
    inputs.token_ids[-1] = wrong
    with pytest.raises(IndexError):
        embedding(inputs)


def test_a_position_in_no_table_is_an_error(kit: Kit) -> None:
    embedding = kit.embedding(torch.randn(50, 16), torch.randn(199, 16), kit.norm(torch.ones(16), None, 1e-6))
    with pytest.raises(IndexError):
        embedding(inputs_of(UNIT))


@pytest.mark.parametrize("forms", [(UNIT,), (CUT,), (PLAIN,), (INT8,), (UNIT, CUT, INT8)], ids=str)
@pytest.mark.parametrize("pooling", list(Pooling))
def test_rows_are_pooled_cut_and_normalised(
    kit: Kit, dtype: torch.dtype, pooling: Pooling, forms: tuple[OutputForm, ...]
) -> None:
    torch.manual_seed(2)
    inputs = inputs_of(*forms)
    states = torch.randn(inputs.ragged.tokens, 40).to(dtype)
    assert [part.form for part in inputs.parts] == list(forms)
    for part in inputs.parts:
        made = kit.head((pooling,))(states, part, inputs)
        expected = TorchHead((pooling,))(states.double(), part, inputs).rows
        assert made.rows.dtype == expected.dtype
        assert made.finite.tolist() == [True] * made.rows.shape[0] == [True] * len(part.bounds)
        assert (made.rows.double() - expected.double()).abs().max() <= (1e-6 if made.rows.is_floating_point() else 1)


@pytest.mark.parametrize("form", [UNIT, CUT, PLAIN], ids=str)
@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
def test_a_row_that_is_not_finite_is_zeros_and_told_also_where_it_is_cut(
    kit: Kit, dtype: torch.dtype, form: OutputForm, wrong: float
) -> None:
    inputs = inputs_of(form)
    states = torch.ones(inputs.ragged.tokens, 40).to(dtype)
    [part] = inputs.parts
    begin, _ = part.bounds[3].tolist()
    states[begin, 39] = wrong
    made = kit.head((Pooling.MEAN,))(states, part, inputs)
    touched = [b <= begin < e for b, e in part.bounds.tolist()]
    assert any(touched)
    assert made.finite.tolist() == [not each for each in touched]
    assert not made.rows[torch.tensor(touched)].any()
    assert torch.isfinite(made.rows).all()


def test_a_row_of_zeros_stays_zeros(kit: Kit) -> None:
    inputs = inputs_of(UNIT)
    made = kit.head((Pooling.MEAN,))(torch.zeros(inputs.ragged.tokens, 40), inputs.parts[0], inputs)
    assert made.finite.all()
    assert not made.rows.any()


def test_the_mean_of_a_long_text_loses_nothing(kit: Kit, dtype: torch.dtype) -> None:
    sequence = Sequence.whole(np.zeros(4096, dtype=np.int32), OutputForm(16, normalize=False))
    states = torch.full((4096, 16), 1.001).to(dtype)
    inputs = Inputs.of(Batch.pack([sequence]))
    made = kit.head((Pooling.MEAN,))(states, inputs.parts[0], inputs)
    assert abs(float(made.rows[0, 0]) - float(states[0, 0])) < 1e-6


@pytest.mark.parametrize("pooling", list(Pooling))
def test_a_pooled_text_of_8192_tokens_is_that_of_float64(kit: Kit, dtype: torch.dtype, pooling: Pooling) -> None:
    torch.manual_seed(4)
    inputs = Inputs.of(Batch.pack([Sequence.whole(np.zeros(8192, dtype=np.int32), OutputForm(24, normalize=False))]))
    states = (torch.randn(8192, 24) + 3).to(dtype)
    wide, number = states.double(), torch.arange(1.0, 8193.0, dtype=torch.float64)
    expected = {
        Pooling.CLS: wide[0],
        Pooling.LAST_TOKEN: wide[-1],
        Pooling.MEAN: wide.mean(0),
        Pooling.MAX: wide.amax(0),
        Pooling.MEAN_SQRT_LENGTH: wide.sum(0) / 8192**0.5,
        Pooling.WEIGHTED_MEAN: (wide * number[:, None]).sum(0) / number.sum(),
    }[pooling]
    made = kit.head((pooling,))(states, inputs.parts[0], inputs)
    assert ((made.rows[0].double() - expected) / expected).abs().max() < 1e-6
