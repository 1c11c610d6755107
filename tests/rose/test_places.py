"""Places: which row of a table each token reads."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers.models.roberta.modeling_roberta import RobertaEmbeddings
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.layers.places import Places, in_order
from tulip_rose.sequence import OutputForm, Sequence, Want

PADDING = 1
TEXTS = [[1], [7], [1, 1], [9, 1, 8], [1, 5, 1, 1, 6], [2, 3, 4, 5, 6], [5] * 30, [6, 1] * 20]


def inputs_of(texts: list[list[int]], types: list[NDArray[np.uint8] | None] | None = None) -> Inputs:
    want = Want(((0, 1),), OutputForm(4))
    pairs = zip(texts, types or [None] * len(texts), strict=True)
    return Inputs.of(
        Batch.pack([Sequence(np.array(ids, dtype=np.int32), (want,), 0.0, 1.0, own) for ids, own in pairs])
    )


def split(rows: torch.Tensor, inputs: Inputs) -> list[list[int]]:
    return [part.tolist() for part in rows.tensor_split(inputs.ragged.starts[1:-1].long())]


def test_padding_is_not_counted_as_in_the_reference() -> None:
    inputs = inputs_of(TEXTS)
    found = split(Places(60, padding=PADDING)(inputs), inputs)
    sorted_texts = split(inputs.token_ids, inputs)
    for text, rows in zip(sorted_texts, found, strict=True):
        expected = RobertaEmbeddings.create_position_ids_from_input_ids(torch.tensor([text]), PADDING)
        assert rows == expected[0].tolist()


def test_without_padding_a_place_is_the_position() -> None:
    inputs = inputs_of(TEXTS)
    assert torch.equal(Places(40, 2)(inputs), inputs.positions)
    assert torch.equal(in_order(inputs), inputs.positions)


def test_each_type_has_a_table_behind_that_of_the_type_before() -> None:
    types = np.array([0, 0, 1, 2], dtype=np.uint8)
    inputs = inputs_of([[5, 6], [5, 6, 7, 8]], [None, types])
    assert split(Places(10, 3)(inputs), inputs) == [[0, 1], [0, 1, 12, 23]]
    assert split(Places(10, 3, padding=PADDING)(inputs), inputs) == [[2, 3], [2, 3, 14, 25]]


@pytest.mark.parametrize("types", [0, 1])
def test_a_model_of_one_type_has_nothing_to_choose(types: int) -> None:
    inputs = inputs_of([[5, 6, 7]], [np.array([0, 1, 1], dtype=np.uint8)])
    assert Places(10, types)(inputs).tolist() == [0, 1, 2]


def test_rows_beyond_the_tokens_have_a_place_too() -> None:
    inputs = inputs_of([[5, 1, 6]]).padded(8)
    assert Places(10, padding=PADDING)(inputs).max() < 10


@pytest.mark.parametrize(("places", "longest"), [(Places(8), 8), (Places(8, 2), 8), (Places(8, 2, padding=1), 6)])
def test_a_sequence_without_places_for_all_is_refused_and_reads_no_row_of_another_type(
    places: Places, longest: int
) -> None:
    assert places.longest == longest
    assert places(inputs_of([[5] * longest])).shape == (longest,)
    with pytest.raises(IndexError, match=f"{longest + 1} tokens in a model of {longest} positions"):
        places(inputs_of([[5] * (longest + 1)]))
