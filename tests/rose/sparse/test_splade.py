import itertools

import numpy as np
import pytest
import torch
from paritykit.sparse import dense, read_terms
from torch import Tensor
from torch.nn import functional
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.inputs import Inputs, Part
from tulip_rose.rose.layers.head import Made, part_of
from tulip_rose.rose.layers.kit import TorchKit
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.sparse.lexical import LexicalHead
from tulip_rose.rose.sparse.splade import Splade, SpladeHead
from tulip_rose.rose.sparse.vocabulary import VocabularyHead
from tulip_rose.sequence import OutputForm, OutputKind, Sequence, Want

HIDDEN, TERMS = 8, 40
SPANS = [((0, 3), (1, 9)), ((0, 1),), ((2, 9),), ((0, 9), (0, 9))]
LENGTHS = [9, 1, 9, 9]


def form(most: int = TERMS) -> OutputForm:
    return OutputForm(most, kind=OutputKind.SPARSE)


def inputs_of(ids: list[np.ndarray], most: int = TERMS) -> Inputs:
    pairs = zip(ids, SPANS, strict=True)
    return Inputs.of(Batch.pack([Sequence(own, (Want(spans, form(most)),), 0.0, 0.0) for own, spans in pairs]))


def random_ids() -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    return [rng.integers(0, TERMS, length).astype(np.int32) for length in LENGTHS]


def rows(made: Made) -> np.ndarray:
    part = part_of(made)
    assert part.starts is not None
    return dense([read_terms(part.rows[a:b]) for a, b in itertools.pairwise(part.starts.tolist())], TERMS)


def spans(part: Part) -> list[tuple[int, int]]:
    return [tuple(pair) for pair in part.bounds.tolist()]


@pytest.fixture
def vocabulary() -> tuple[VocabularyHead, Tensor]:
    """A head that does nothing but multiply, and its table."""
    torch.manual_seed(4)
    table, kit = torch.randn(TERMS, HIDDEN), TorchKit(torch.device("cpu"), "auto")
    norm = kit.norm(torch.ones(HIDDEN), None, 1e-12)
    linear = [kit.linear(weight, None, Activation.NONE) for weight in (torch.eye(HIDDEN), table)]
    return VocabularyHead(linear[0], norm, linear[1], TERMS), table


@pytest.mark.parametrize("sums", [False, True], ids=["max", "sum"])
@pytest.mark.parametrize("twice", [False, True], ids=["once", "twice"])
@pytest.mark.parametrize("tokens", [1, 4, 1000], ids=lambda tokens: f"pieces of {tokens} tokens")
def test_weights_of_a_span_do_not_depend_on_the_size_of_pieces(
    vocabulary: tuple[VocabularyHead, Tensor], sums: bool, twice: bool, tokens: int
) -> None:
    head, table = vocabulary
    inputs = inputs_of(random_ids())
    states = torch.randn(inputs.ragged.tokens, HIDDEN)
    made = SpladeHead(head, Splade(sums, twice), tokens * TERMS)(states, inputs.parts[0], inputs)
    weights = functional.relu(functional.layer_norm(states, (HIDDEN,), eps=1e-12) @ table.T).log1p()
    weights = weights.log1p() if twice else weights
    pooled = [weights[a:b].sum(0) if sums else weights[a:b].amax(0) for a, b in spans(inputs.parts[0])]
    np.testing.assert_allclose(rows(made), torch.stack(pooled).numpy(), atol=1e-5)


@pytest.mark.parametrize("tokens", [1, 4, 7])
def test_no_more_logits_are_made_at_a_time_than_a_piece_has(
    vocabulary: tuple[VocabularyHead, Tensor], tokens: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, plain = [], VocabularyHead.__call__

    def counted(head: VocabularyHead, states: Tensor) -> Tensor:
        made.append(states.shape[0])
        return plain(head, states)

    monkeypatch.setattr(VocabularyHead, "__call__", counted)
    inputs = inputs_of(random_ids())
    states = torch.randn(inputs.ragged.tokens, HIDDEN)
    SpladeHead(vocabulary[0], Splade(sums=False, twice=False), tokens * TERMS)(states, inputs.parts[0], inputs)
    assert max(made) <= tokens
    assert sum(made) == sum(end - begin for begin, end in spans(inputs.parts[0]))


def test_a_state_that_is_not_finite_fails_the_rows_that_see_it_alone(vocabulary: tuple[VocabularyHead, Tensor]) -> None:
    inputs = inputs_of(random_ids())
    part = inputs.parts[0]
    states = torch.randn(inputs.ragged.tokens, HIDDEN)
    states[5] = torch.nan
    expected = [not a <= 5 < b for a, b in spans(part)]
    splade = SpladeHead(vocabulary[0], Splade(sums=False, twice=False))
    lexical = LexicalHead(torch.randn(1, HIDDEN), torch.full((1,), 99.0), TERMS, torch.tensor([TERMS]))
    for head in (splade, lexical):
        made = head(states, part, inputs)
        assert part_of(made).finite.tolist() == expected
        assert [bool(row.any()) for row in rows(made)] == expected


@pytest.mark.parametrize("most", [TERMS, 2], ids=["all", "two"])
def test_a_term_weighs_as_much_as_its_heaviest_token(most: int) -> None:
    inputs = inputs_of(random_ids(), most)
    states, weight, bias = torch.randn(inputs.ragged.tokens, HIDDEN), torch.randn(1, HIDDEN), torch.ones(1)
    unused = inputs.token_ids[:2]
    made = LexicalHead(weight, bias, TERMS, unused)(states, inputs.parts[0], inputs)
    tokens = functional.linear(states, weight, bias).relu()[:, 0]
    expected = torch.zeros(len(spans(inputs.parts[0])), TERMS)
    for row, (a, b) in zip(expected, spans(inputs.parts[0]), strict=True):
        row.scatter_reduce_(0, inputs.token_ids[a:b], tokens[a:b], "amax")
        row[unused] = 0
        row[row < row.topk(most).values[-1]] = 0
    np.testing.assert_allclose(rows(made), expected.numpy(), atol=1e-6)


def test_spans_without_a_word_are_rows_without_a_term() -> None:
    inputs = inputs_of(random_ids())
    states = torch.randn(inputs.ragged.tokens, HIDDEN)
    made = LexicalHead(torch.zeros(1, HIDDEN), torch.zeros(1), TERMS, torch.tensor([0]))(
        states, inputs.parts[0], inputs
    )
    assert not rows(made).any()
    assert part_of(made).finite.all()
