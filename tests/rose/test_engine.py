from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from transformers import BertModel
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.buckets import bucket_tokens
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import StepError
from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.options import EngineOptions
from tulip_rose.sequence import OutputForm, Sequence, VectorType, Want

Ids = NDArray[np.int32]
LENGTHS = [1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 64, 64, 5, 5, 1]


def texts(lengths: list[int], vocabulary: int = 60) -> list[Ids]:
    rng = np.random.default_rng(11)
    return [rng.integers(0, vocabulary, length).astype(np.int32) for length in lengths]


def embed(engine: Engine, ids: list[Ids], form: OutputForm | None = None) -> NDArray[Any]:
    batch = Batch.pack([Sequence.whole(own, form or engine.card.form()) for own in ids])
    return engine.step(batch).wait(30).array()


def cosines(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    return (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


@pytest.mark.parametrize("pooling", ["cls", "mean", "lastToken"])
@pytest.mark.parametrize(("dtype", "least"), [("float32", 0.99999), ("bfloat16", 0.999)])
def test_vectors_equal_the_reference_implementation(tiny: Path, pooling: str, dtype: str, least: float) -> None:
    engine = Engine.load(tiny, EngineOptions(dtype=dtype, pooling=pooling))
    reference = BertModel.from_pretrained(tiny).eval()
    choose: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "cls": lambda x: x[0],
        "mean": lambda x: x.mean(0),
        "lastToken": lambda x: x[-1],
    }
    ids = texts(LENGTHS)
    with torch.inference_mode():
        states = [reference(torch.tensor(own.tolist())[None]).last_hidden_state[0] for own in ids]
    expected = torch.stack([choose[pooling](x) for x in states]).numpy()
    assert cosines(embed(engine, ids), expected).min() >= least


@pytest.mark.parametrize("size", [15, 16, 17, 64])
@pytest.mark.parametrize("equal", [True, False], ids=["equal lengths", "mixed lengths"])
def test_a_text_alone_equals_itself_among_others(minilm: Path, size: int, *, equal: bool) -> None:
    engine = Engine.load(minilm)
    rng = np.random.default_rng(size)
    lengths = [24] * size if equal else [24, *rng.integers(1, 80, size - 1).tolist()]
    ids = texts(lengths, engine.card.vocabulary_size)
    alone = embed(engine, ids[:1])
    assert np.abs(embed(engine, ids)[:1] - alone).max() <= 1e-5


def test_output_forms_mix_within_a_batch_and_rows_keep_the_order_of_the_caller(tiny: Path) -> None:
    engine = Engine.load(tiny, EngineOptions(allowed_dimensions=(16,)))
    ids = texts([9, 3, 7, 3, 5])
    forms = [
        OutputForm(32),
        OutputForm(16),
        OutputForm(32, vector_type=VectorType.INT8),
        OutputForm(32, vector_type=VectorType.BINARY),
        OutputForm(16),
    ]
    rows = engine.step(Batch.pack([Sequence.whole(*pair) for pair in zip(ids, forms, strict=True)])).wait(30)
    for index, (own, form) in enumerate(zip(ids, forms, strict=True)):
        np.testing.assert_allclose(rows.of(index), embed(engine, [own], form), atol=1e-6)
    with pytest.raises(ValueError, match="mixed output forms"):
        rows.array()


def test_each_span_of_a_sequence_is_one_row_of_one_pass(tiny: Path) -> None:
    engine = Engine.load(tiny, EngineOptions(normalize=False))
    (ids,) = texts([12])
    form = engine.card.form()
    spans = ((0, 4), (4, 12), (0, 12))
    first, second, whole = engine.step(Batch.pack([Sequence(ids, (Want(spans, form),), 0.0, 1.0)])).wait(30).of(0)
    np.testing.assert_allclose(whole, embed(engine, [ids])[0], atol=1e-6)
    np.testing.assert_allclose((4 * first + 8 * second) / 12, whole, atol=1e-5)


def test_a_row_that_is_not_finite_fails_alone_and_leaves_zeros(tiny: Path) -> None:
    weights = load_file(tiny / "model.safetensors")
    # Each is a number, as weights have to be; the sum of this word at this position is none.
    weights["embeddings.word_embeddings.weight"][7] = 3e38
    weights["embeddings.position_embeddings.weight"][4] = 3e38
    save_file(weights, tiny / "model.safetensors")
    engine = Engine.load(tiny)
    good, bad = np.full(4, 5, dtype=np.int32), np.array([1, 2, 2, 3, 7], dtype=np.int32)
    alone = embed(engine, [good])[0]
    form = engine.card.form()
    rows = engine.step(Batch.pack([Sequence.whole(own, form) for own in (good, bad, good)])).wait(30)
    assert [rows.failed(index) for index in range(3)] == [(), (0,), ()]
    assert not rows.of(1).any()
    for index in (0, 2):
        np.testing.assert_allclose(rows.of(index)[0], alone, atol=1e-6)


def test_a_result_is_lazy_and_can_be_asked_for_twice(tiny: Path) -> None:
    engine = Engine.load(tiny)
    batch = Batch.pack([Sequence.whole(own, engine.card.form()) for own in texts([4, 9])])
    results = [engine.step(batch) for _ in range(3)]
    found = [result.wait(30).array() for result in results]
    assert all(result.ready() for result in results)
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(results[0].wait(30).array(), found[0])


def test_a_step_that_raises_fails_alone(tiny: Path) -> None:
    engine = Engine.load(tiny)
    with pytest.raises(StepError, match="IndexError"):
        embed(engine, [np.array([60], dtype=np.int32)])
    assert embed(engine, texts([4])).shape == (1, 32)


def test_a_closed_engine_has_finished_what_was_launched(tiny: Path) -> None:
    engine = Engine.load(tiny)
    result = engine.step(Batch.pack([Sequence.whole(own, engine.card.form()) for own in texts([60] * 50)]))
    engine.close()
    assert result.ready()


def test_torch_is_given_one_of_few_sizes_and_the_device_the_tokens_of_the_batch(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as there are decide how many threads a step gets; only torch's own layers meet rows beyond them."""
    engine, sizes, asked = Engine.load(tiny), list[int](), list[int]()
    model, launch = engine._model, engine._device.launch

    def sized(inputs: Inputs) -> torch.Tensor:
        sizes.append(inputs.token_ids.shape[0])
        return model(inputs)

    monkeypatch.setattr(engine, "_model", sized)
    monkeypatch.setattr(engine._device, "launch", lambda work, rows: asked.append(rows) or launch(work, rows))
    for lengths in ([3], [60, 9], [33] * 9):
        embed(engine, texts(lengths))
    assert asked == [3, 69, 297]
    assert sizes == ([bucket_tokens(tokens) for tokens in asked] if engine._kit.rounds else asked)


@pytest.mark.gpu
def test_cuda_gives_the_vectors_of_the_cpu(minilm: Path) -> None:
    ids = texts(LENGTHS, 30_000)
    expected = embed(Engine.load(minilm, EngineOptions(device="cpu")), ids)
    found = embed(Engine.load(minilm, EngineOptions(device="cuda")), ids)
    assert cosines(found, expected).min() >= 0.9999
