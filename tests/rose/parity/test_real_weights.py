"""Models with their real weights against their class in transformers."""

from collections.abc import Callable
from pathlib import Path

import pytest
from paritykit.e5_small import e5_small
from paritykit.folder import save
from paritykit.measure import Parity, engine_states, engine_vectors, parity, reference_states
from paritykit.texts import texts
from transformers import BertModel, PreTrainedModel
from trellis_operator.sources.cache import default_cache
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions

VOCABULARY = 20_000
LENGTHS = [1, 2, 15, 16, 17, 63, 64, 64, 65, 128, 255]


@pytest.fixture(scope="module")
def multilingual() -> PreTrainedModel:
    return e5_small(default_cache() / "packages", VOCABULARY)


@pytest.fixture(scope="module")
def multilingual_folder(multilingual: PreTrainedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save(multilingual, tmp_path_factory.mktemp("e5") / "model")


def compare(folder: Path, model: PreTrainedModel, lengths: list[int], dtype: str) -> Parity:
    """Of states in float32, of vectors in bfloat16."""
    engine = Engine.load(folder, EngineOptions(dtype=dtype, device="cpu", threads=1, pooling="mean"))
    inputs = texts(lengths, VOCABULARY)
    expected = reference_states(model, inputs)
    if dtype == "float32":
        return parity(engine_states(engine, inputs), expected)
    return parity(engine_vectors(engine, inputs), [states.mean(0, keepdims=True) for states in expected])


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize(("dtype", "least", "most"), [("float32", 0.99999, 1e-4), ("bfloat16", 0.999, 0.1)])
def test_minilm(
    minilm: Path, dtype: str, least: float, most: float, record_property: Callable[[str, object], None]
) -> None:
    model = BertModel.from_pretrained(minilm).eval()
    found = compare(minilm, model, [*LENGTHS, 256], dtype)
    record_property("parity", found)
    print(found)
    assert found.cosine >= least
    assert found.error <= most


@pytest.mark.usefixtures("layers")
@pytest.mark.parametrize(("dtype", "least", "most"), [("float32", 0.99999, 1e-4), ("bfloat16", 0.999, 0.1)])
def test_multilingual_e5_small(
    multilingual: PreTrainedModel,
    multilingual_folder: Path,
    dtype: str,
    least: float,
    most: float,
    record_property: Callable[[str, object], None],
) -> None:
    found = compare(multilingual_folder, multilingual, [*LENGTHS, 511, 512], dtype)
    record_property("parity", found)
    print(found)
    assert found.cosine >= least
    assert found.error <= most
