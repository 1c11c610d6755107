"""A contextual model (pplx-embed-context, small and random) from text to vector, against transformers.

Chunks are joined with `<|endoftext|>`, every token sees every other, and each chunk is the mean over its own tokens.
"""

import base64
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests
import torch
from numpy.typing import NDArray
from roadkit.program import Programs
from roadkit.stack import Stack, Starter
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import Qwen3Config, Qwen3Model

pytestmark = pytest.mark.processes

SEPARATOR = "<|endoftext|>"
DOCUMENT = ["Marie Curie was born in Warsaw.", "She moved to Paris in 1891.", "Ihre Arbeit — Radioaktivität — blieb."]
VOCABULARY = 400


def _tokenizer() -> Tokenizer:
    """Byte-level, as that of Qwen3, and as small as can be."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[SEPARATOR], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(DOCUMENT * 2, trainer)
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model's folder, with the files and the names that the published one has."""
    folder = tmp_path_factory.mktemp("contextual")
    torch.manual_seed(7)
    config = Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=128,
        initializer_range=0.2,
    )
    Qwen3Model(config).save_pretrained(str(folder))
    own = json.loads((folder / "config.json").read_text())
    own |= {
        "architectures": ["PPLXQwen3Model"],
        "model_type": "bidirectional_pplx_qwen3",
        "auto_map": {"AutoModel": "modeling.PPLXQwen3ContextualModel"},
    }
    (folder / "config.json").write_text(json.dumps(own))
    package = "sentence_transformers.models"
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": f"{package}.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{package}.Pooling"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 64, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    _tokenizer().save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture(scope="module")
def contextual(programs: Programs, folder: Path) -> Iterator[Stack]:
    starter = Starter(programs, folder)
    stack = starter.stack()
    yield stack
    starter.stop(*stack.programs)


@pytest.fixture(scope="module")
def states(folder: Path) -> Any:
    """The states of a sequence, each token of which sees every other."""
    config = json.loads((folder / "config.json").read_text())
    kept = {key: value for key, value in config.items() if key not in ("model_type", "architectures", "auto_map")}
    model = Qwen3Model.from_pretrained(str(folder), config=Qwen3Config(**kept)).eval()

    def of(ids: Sequence[int]) -> NDArray[np.float64]:
        mask = {"full_attention": torch.zeros(1, 1, len(ids), len(ids))}
        with torch.no_grad():
            return model(torch.tensor([list(ids)]), attention_mask=mask).last_hidden_state[0].double().numpy()

    return of


def _chunks(stack: Stack, **body: Any) -> Any:
    answer = requests.post(f"{stack.url}/v1/contextualizedembeddings", json={"model": "minilm", **body}, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_each_chunk_is_the_mean_of_its_tokens_in_the_light_of_all(contextual: Stack, folder: Path, states: Any) -> None:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = tokenizer.encode(SEPARATOR.join(DOCUMENT)).ids
    separator = tokenizer.token_to_id(SEPARATOR)
    whole = states(ids)
    cuts = [-1, *(place for place, token in enumerate(ids) if token == separator), len(ids)]
    wanted = [whole[left + 1 : right].mean(axis=0) for left, right in pairwise(cuts)]
    answer = _chunks(contextual, inputs=[DOCUMENT])
    found = np.array([each["embedding"] for each in answer["data"][0]["data"]])
    np.testing.assert_allclose(found, wanted, atol=1e-4)
    assert answer["usage"]["prompt_tokens"] == len(ids)
    packed = _chunks(contextual, input=[DOCUMENT])["data"][0]["data"]
    int8 = np.array([np.frombuffer(base64.b64decode(each["embedding"]), np.int8) for each in packed])
    assert np.abs(int8 - 127 * np.tanh(wanted)).max() < 0.51


def test_a_document_longer_than_the_model_still_has_a_vector_for_each_chunk(contextual: Stack) -> None:
    answer = _chunks(contextual, inputs=[DOCUMENT * 6])
    vectors = np.array([each["embedding"] for each in answer["data"][0]["data"]])
    assert vectors.shape == (18, 64)
    assert np.isfinite(vectors).all()
