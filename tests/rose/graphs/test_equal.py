"""Steps over static buffers give what steps without them give, whatever is beside, before or behind a text."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from graphkit.everywhere import EVERYWHERE
from paritykit.measure import engine_vectors, parity, reference_states
from paritykit.texts import Text
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.graphs.device import CaptureError, Graph, Step
from tulip_rose.rose.native import library
from tulip_rose.rose.options import GraphOptions
from tulip_rose.sequence import OutputForm, Sequence, VectorType, Want

FAMILIES = ["bert", "xlm-roberta", "mpnet", "modernbert", "nomic", "qwen3", "gemma"]
GRAPHS = GraphOptions(multiple=16, slots=(2, 8, 32, 128), most_tokens=2048, most=8)
BIASED = ("cuda", "mpnet")
"""No kernel that a graph can hold adds a bias to logits."""
EDGES = [1, 63, 64, 65, 127, 128, 129]
FORMS = [
    OutputForm(32),
    OutputForm(16),
    OutputForm(32, vector_type=VectorType.INT8),
    OutputForm(32, vector_type=VectorType.BINARY),
    OutputForm(32, normalize=False),
]


def cosines(a: Any, b: Any) -> Any:
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


def poison_pads(engine: Any) -> None:
    """Make every state of a token with the id of pads none that is a number."""
    with torch.inference_mode():
        engine._model._embedding._words[0] = float("nan")


def never(step: Step) -> Graph:
    raise CaptureError("not here")


@pytest.mark.parametrize("family", FAMILIES)
@EVERYWHERE
def test_every_family_gives_its_vectors_eagerly_and_from_a_graph(
    where: str,
    error: float,
    folders: Callable[[str], Path],
    load: Any,
    plain: Any,
    texts_of: Any,
    embed: Any,
    family: str,
) -> None:
    folder = folders(family)
    framed, loose = load(folder), plain(folder)
    batches = [texts_of(lengths) for lengths in ([5, 9, 3, 9], [7], [6, 4, 4, 2, 30], [48], EDGES[:4])]
    for _ in range(3):
        for ids in batches:
            np.testing.assert_allclose(embed(framed, ids), embed(loose, ids), atol=error)
    if (where, family) == BIASED:
        assert framed.framed is None
    else:
        assert framed.graphs.replayed >= len(batches)
        assert framed.graphs.eager >= 1


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("family", FAMILIES)
@EVERYWHERE
def test_vectors_from_a_graph_are_those_of_transformers(
    where: str, folders: Callable[[str], Path], load: Any, texts_of: Any, model_of: Any, family: str, dtype: str
) -> None:
    framed = load(folders(family), dtype=dtype)
    texts = [Text(ids) for ids in texts_of([5, 9, 30, 1, 64, 17])]
    expected = [states.mean(0, keepdims=True) for states in reference_states(model_of(family), texts)]
    for _ in range(3):
        found = parity(engine_vectors(framed, texts), expected)
        assert found.cosine >= (0.99999 if dtype == "float32" else 0.999)
    # On a GPU no kernel takes float32 in a graph.
    assert bool(framed.graphs.replayed) is (where != "cuda" or (dtype == "bfloat16" and (where, family) != BIASED))


@pytest.mark.parametrize("family", FAMILIES)
@EVERYWHERE
def test_in_one_bucket_a_graph_equals_an_eager_step_bit_for_bit(
    where: str, folders: Callable[[str], Path], load: Any, texts_of: Any, embed: Any, family: str
) -> None:
    framed, eager = load(folders(family)), load(folders(family))
    eager._device.capture = never
    for lengths in ([5, 9, 3], [20, 7], [1, 1, 1], [16, 16], [9, 5, 3]) * 3:
        ids = texts_of(lengths)
        np.testing.assert_array_equal(embed(framed, ids), embed(eager, ids))
    assert bool(framed.graphs.replayed) is ((where, family) != BIASED)
    assert not eager.graphs.replayed


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@EVERYWHERE
def test_lengths_around_the_edges_of_buckets_and_the_longest_of_all(
    where: str, folders: Callable[[str], Path], load: Any, plain: Any, texts_of: Any, embed: Any, dtype: str
) -> None:
    framed, loose = load(folders("bert"), dtype=dtype), plain(folders("bert"), dtype=dtype)
    assert framed.card.max_input_tokens == 150
    for length in [*EDGES, 150]:
        for ids in (texts_of([length]), texts_of([length, 1])):
            for _ in range(3):
                found, expected = embed(framed, ids), embed(loose, ids)
                assert cosines(found, expected).min() >= (0.99999 if dtype == "float32" else 0.999)


@EVERYWHERE
def test_slots_may_all_be_full(
    where: str, error: float, folders: Callable[[str], Path], load: Any, plain: Any, texts_of: Any, embed: Any
) -> None:
    framed, loose = load(folders("bert")), plain(folders("bert"))
    for count, length in ((2, 8), (8, 2), (32, 2), (32, 16)):
        ids = texts_of([length] * count)
        for _ in range(3):
            np.testing.assert_allclose(embed(framed, ids), embed(loose, ids), atol=error)


@EVERYWHERE
def test_after_a_long_batch_a_short_one_in_the_same_graph_finds_nothing_of_it(
    where: str, error: float, folders: Callable[[str], Path], load: Any, plain: Any, texts_of: Any, embed: Any
) -> None:
    framed, loose = load(folders("bert")), plain(folders("bert"))
    long, short = texts_of([15, 1]), texts_of([1, 1])
    for _ in range(2):
        embed(framed, texts_of([13, 2]))
    for ids in (long, short, long, texts_of([2]), short):
        np.testing.assert_allclose(embed(framed, ids), embed(loose, ids), atol=error)


@pytest.mark.parametrize("size", [1, 15, 16, 17, 64])
@pytest.mark.parametrize("equal", [True, False], ids=["equal lengths", "mixed lengths"])
@EVERYWHERE
def test_a_text_alone_equals_itself_among_others(
    where: str,
    error: float,
    folders: Callable[[str], Path],
    load: Any,
    texts_of: Any,
    embed: Any,
    size: int,
    *,
    equal: bool,
) -> None:
    framed = load(folders("modernbert"), graphs=GRAPHS)
    ids = texts_of([12] * size if equal else [12, *range(1, size)])
    alone = embed(framed, ids[:1])
    for _ in range(3):
        np.testing.assert_allclose(embed(framed, ids)[:1], alone, atol=error)


@EVERYWHERE
def test_pads_of_which_every_state_is_not_a_number_change_nothing(
    where: str, error: float, folders: Callable[[str], Path], load: Any, plain: Any, texts_of: Any, embed: Any
) -> None:
    framed, loose = load(folders("bert")), plain(folders("bert"))
    poison_pads(framed)
    for lengths in ([5, 9, 3], [1], [30, 31, 2], [1, 1]) * 3:
        ids = texts_of(lengths)
        np.testing.assert_allclose(embed(framed, ids), embed(loose, ids), atol=error)


@pytest.mark.parametrize("mixed", [True, False], ids=["mixed", "one form"])
@EVERYWHERE
def test_forms_spans_types_and_unseen_tokens_are_those_of_a_step_without_graphs(
    where: str, error: float, folders: Callable[[str], Path], load: Any, plain: Any, texts_of: Any, *, mixed: bool
) -> None:
    options = {"allowed_dimensions": (16,)}
    framed, loose = load(folders("bert"), **options), plain(folders("bert"), **options)
    for form in FORMS * 3:
        batch = Batch.pack(
            [
                Sequence(
                    ids,
                    (Want(((0, 2), (1, ids.size), (0, ids.size)), FORMS[at] if mixed else form),),
                    arrival=0.0,
                    deadline=1.0,
                    token_types=(np.arange(ids.size) % 2).astype(np.uint8) if at else None,
                    unseen=at,
                )
                for at, ids in enumerate(texts_of([9, 5, 5, 12, 7]))
            ]
        )
        found, expected = (engine.step(batch).wait(30) for engine in (framed, loose))
        for index in range(5):
            assert found.of(index).dtype == expected.of(index).dtype
            # The last bit of a tanh may decide a rounding.
            most = 1 if found.of(index).dtype == np.int8 else error
            np.testing.assert_allclose(found.of(index), expected.of(index), atol=most)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "numpy"])
@EVERYWHERE
def test_texts_of_one_row_are_laid_out_by_compiled_code_and_without_it_by_numpy(
    where: str,
    error: float,
    folders: Callable[[str], Path],
    load: Any,
    plain: Any,
    texts_of: Any,
    monkeypatch: pytest.MonkeyPatch,
    *,
    compiled: bool,
) -> None:
    assert library.layout() is not None
    framed, loose = load(folders("bert")), plain(folders("bert"))
    form = framed.card.form()
    texts = [
        Sequence(
            ids,
            (Want(((at % 3, ids.size),), form),),
            arrival=0.0,
            deadline=1.0,
            token_types=(np.arange(ids.size) % 2).astype(np.uint8) if at % 2 else None,
            unseen=at % 4,
        )
        for at, ids in enumerate(texts_of([9, 5, 5, 12, 7, 9, 30]))
    ]
    if not compiled:
        monkeypatch.setattr(library, "layout", lambda: None)
    # The longer first: nothing of it is left for the shorter ones.
    for batch in (texts, texts[2:4], texts[:1], texts[::-1]) * 3:
        found, expected = (engine.step(Batch.pack(batch)).wait(30).array() for engine in (framed, loose))
        np.testing.assert_allclose(found, expected, atol=error)
    assert framed.graphs.replayed


@EVERYWHERE
def test_no_array_of_a_batch_is_made_for_a_step_with_a_graph(
    where: str, error: float, folders: Callable[[str], Path], load: Any, texts_of: Any
) -> None:
    """Each would cost as much as all else that the host does for a short text."""
    framed = load(folders("bert"))
    for lengths in ([7], [5, 9, 3]):
        for _ in range(3):
            batch = Batch.pack([Sequence.whole(ids, framed.card.form()) for ids in texts_of(lengths)])
            framed.step(batch).wait(30)
            assert "laid" not in vars(batch.texts)


@EVERYWHERE
def test_a_row_that_is_not_finite_fails_alone(
    where: str, error: float, folders: Callable[[str], Path], load: Any, texts_of: Any, embed: Any
) -> None:
    framed = load(folders("bert"))
    good, bad = texts_of([6, 4])
    bad[2] = 0
    expected = embed(framed, [good])
    poison_pads(framed)
    form = framed.card.form()
    for _ in range(3):
        rows = framed.step(Batch.pack([Sequence.whole(ids, form) for ids in (good, bad, good)])).wait(30)
        assert [rows.failed(index) for index in range(3)] == [(), (0,), ()]
        assert not rows.of(1).any()
        np.testing.assert_allclose(rows.of(2), expected, atol=error)


@EVERYWHERE
def test_buffers_and_pinned_slots_are_poisoned_before_the_first_step(
    where: str, load: Any, folders: Callable[[str], Path]
) -> None:
    framed = load(folders("bert")).framed
    assert torch.isnan(framed._arena._states).all()
    for buffer in (framed._arena._given, framed._arena._out, *(slot.given for slot in framed._ring.slots)):
        # The step that was tried has written the beginning of some.
        assert (buffer[buffer.shape[0] // 2 :] == 255).all()
