"""From the body of a request to the rows of a real engine and back, against the reference on the same texts."""

import asyncio
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from paritykit.folder import random_model, save
from paritykit.words import SPECIAL, VOCABULARY, save_tokenizer, words
from safetensors.torch import save_file
from sentence_transformers import MultiVectorEncoder, SparseEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling
from torch import nn
from transformers import BertConfig, BertForMaskedLM, BertModel, XLMRobertaConfig, XLMRobertaModel
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions
from tulip_rose.sequence import Embedded, StepTimes
from tulip_rose.tulip.config import Budgets
from tulip_rose.tulip.info import Room, info_of
from tulip_rose.tulip.wire import response_of, sequences_of

SIZES: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
}
TEXTS = [text for text in words(12, seed=8) if text.strip(" ,.")]
QUERIES = [" ".join(text.split()[:5]) for text in TEXTS]


@pytest.fixture
async def road(FakeEngine, serve):
    """A gateway in front of an engine that computes, of the model in a folder."""

    class Computing(FakeEngine):
        def load(self, folder: Path) -> "Computing":
            self.rose = Engine.load(folder, EngineOptions(device="cpu", threads=1))
            return self

        async def Embed(self, request, context):
            self.calls.append(request)
            now = time.monotonic()
            sequences = sequences_of(request, self.rose.card, now, now + 60)
            rows = self.rose.step(Batch.pack(sequences)).wait(60)
            for index, sequence in enumerate(sequences):
                sequence.place, sequence.outcome = index, Embedded(rows, StepTimes(now, now, now, now, now))
            return response_of(sequences, self.rose.card, 0)

        async def Info(self, request, context):
            return info_of(Room("model", self.rose.card, Budgets(4096, 65536), _Idle(), None), "test")

    async def start(folder: Path):
        engine = await Computing().load(folder).start()
        started.append(engine)
        return await serve(engine, model=folder)

    started = []
    yield start
    for each in started:
        each.gate.set()
        await each.stop()


class _Idle:
    outstanding_tokens = 0


async def asked(served, texts: list[str], types: list[str], **fields: Any) -> dict[str, Any]:
    answer = await served.post("/v2/embed", model="minilm", texts=texts, embedding_types=types, **fields)
    assert answer.status == 200, answer.body
    return answer.body["embeddings"]


def dense(rows: list[dict[str, list[float]]]) -> np.ndarray:
    found = np.zeros((len(rows), VOCABULARY), np.float32)
    for index, row in enumerate(rows):
        found[index, row["indices"]] = row["values"]
    return found


def same(found: Any, expected: np.ndarray) -> None:
    found = np.asarray(found, np.float32)
    assert found.shape == expected.shape
    cosines = (found * expected).sum(1) / np.linalg.norm(found, axis=1) / np.linalg.norm(expected, axis=1)
    assert cosines.min() >= 0.99999
    assert np.abs(found - expected).max() <= 1e-4


async def test_sparse_rows_of_texts_are_those_of_sparse_encoder(road, tmp_path):
    base = tmp_path / "base"
    random_model(BertForMaskedLM, BertConfig(**SIZES, pad_token_id=0), spread=0.3).save_pretrained(base)
    save_tokenizer(base)
    encoder = SparseEncoder(modules=[MLMTransformer(str(base)), SpladePooling()], device="cpu")
    encoder.save_pretrained(str(tmp_path / "model"))
    served = await road(tmp_path / "model")
    expected = encoder.encode(TEXTS, convert_to_sparse_tensor=False, batch_size=1).numpy()
    same(dense((await asked(served, TEXTS, ["sparse"]))["sparse"]), expected)
    pairs = (await served.post("/embed_sparse", inputs=TEXTS)).body
    shaped = [{"indices": [each["index"] for each in own], "values": [each["value"] for each in own]} for own in pairs]
    same(dense(shaped), expected)


def multi_vector(folder: Path, expansion: dict[str, Any] | None, tasks: list[str]) -> MultiVectorEncoder:
    base = folder / "base"
    random_model(BertModel, BertConfig(**SIZES, pad_token_id=0), spread=0.3).save_pretrained(base)
    save_tokenizer(base)
    modules = [
        Transformer(str(base), document_length=64, query_expansion=expansion),
        Dense(32, 16, bias=False, activation_function=nn.Identity(), module_input_name="token_embeddings"),
        MultiVectorMask([",", "."], skiplist_tasks=tasks),
        Normalize(module_input_name="token_embeddings"),
    ]
    encoder = MultiVectorEncoder(modules=modules, device="cpu", prompts={"query": SPECIAL[5], "document": SPECIAL[6]})
    encoder.save_pretrained(str(folder / "model"))
    return encoder


@pytest.mark.parametrize(
    "expansion",
    [
        None,
        {"strategy": "fixed", "length": 16},
        {"strategy": "fixed", "length": 16, "attend": True},
        {"strategy": "min", "length": 5, "attend": False},
    ],
    ids=["plain", "filled up", "filled up and seen", "filled up at least"],
)
@pytest.mark.parametrize("tasks", [["document"], ["query", "document"]], ids=["documents skip", "both skip"])
async def test_vectors_of_tokens_are_those_of_multi_vector_encoder(road, tmp_path, expansion, tasks):
    encoder = multi_vector(tmp_path, expansion, tasks)
    served = await road(tmp_path / "model")
    documents = await asked(served, TEXTS, ["tokens"], input_type="search_document")
    queries = await asked(served, QUERIES, ["tokens"], input_type="search_query")
    for found, expected in (
        (documents["tokens"], encoder.encode_document(TEXTS, batch_size=1, convert_to_numpy=True)),
        (queries["tokens"], encoder.encode_query(QUERIES, batch_size=1, convert_to_numpy=True)),
    ):
        for own, wanted in zip(found, expected, strict=True):
            same(own, np.asarray(wanted))
    scores = [[maxsim(query, document) for document in documents["tokens"]] for query in queries["tokens"]]
    expected = encoder.similarity(encoder.encode_query(QUERIES), encoder.encode_document(TEXTS)).cpu().numpy()
    np.testing.assert_allclose(scores, expected, atol=1e-3)


def maxsim(query: list[list[float]], document: list[list[float]]) -> float:
    """As the documentation tells callers to compute it."""
    return float((np.asarray(query) @ np.asarray(document).T).max(axis=1).sum())


async def test_three_kinds_of_rows_of_one_pass(road, tmp_path):
    model = random_model(XLMRobertaModel, XLMRobertaConfig(**SIZES, pad_token_id=0, bos_token_id=2, eos_token_id=3))
    folder = save(model, tmp_path / "model", "cls", normalize=True)
    tokenizer = save_tokenizer(folder)
    sparse = {"weight": torch.randn(1, 32), "bias": torch.randn(1)}
    colbert = {"weight": torch.randn(32, 32), "bias": torch.randn(32)}
    save_file(sparse, folder / "sparse_linear.safetensors")
    save_file(colbert, folder / "colbert_linear.safetensors")
    served = await road(folder)
    found = await asked(served, TEXTS, ["float", "sparse", "tokens", "int8"])
    for index, text in enumerate(TEXTS):
        ids = torch.tensor(tokenizer(text)["input_ids"])
        with torch.inference_mode():
            states = model(input_ids=ids[None]).last_hidden_state[0]
        same([found["float"][index]], nn.functional.normalize(states[:1], dim=1).numpy())
        tokens = nn.functional.normalize(nn.functional.linear(states[1:], **colbert), dim=1)
        same(found["tokens"][index], tokens.numpy())
        weights = nn.functional.linear(states, **sparse).relu()[:, 0]
        terms = torch.zeros(VOCABULARY).scatter_reduce_(0, ids, weights, "amax")
        terms[:4] = 0
        np.testing.assert_allclose(dense([found["sparse"][index]])[0], terms.numpy(), atol=1e-4)
    assert len(found["int8"]) == len(TEXTS)


async def test_requests_beside_one_another_get_their_own_rows(road, tmp_path):
    encoder = multi_vector(tmp_path, {"strategy": "fixed", "length": 16}, ["document"])
    served = await road(tmp_path / "model")
    expected = encoder.encode_query(QUERIES, batch_size=1, convert_to_numpy=True)
    found = await asyncio.gather(*(asked(served, [text], ["tokens"], input_type="query") for text in QUERIES))
    for own, wanted in zip(found, expected, strict=True):
        same(own["tokens"][0], np.asarray(wanted))
