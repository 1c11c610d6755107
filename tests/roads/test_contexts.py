"""Documents of chunks, prompts that are not pooled, windows and types of vectors, from text to vector.

The reference computes the states of tokens itself, with transformers, and pools them as the documentation says.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests
import torch
from numpy.typing import NDArray
from roadkit.stack import Gateway, Stack, Starter
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer
from transformers import AutoModel

pytestmark = pytest.mark.processes

CLS, SEP = 101, 102
TOKENS, OVERLAP = 48, 16
PROMPT = "represent this: "
DOCUMENT = [
    "The trellis behind the house was built by her grandfather in the spring of a wet year.",
    "It has carried roses, beans and, for one careless summer, a wild vine that nobody had planted.",
    "He painted it green.",
    "Every winter it loses a slat or two, and every spring somebody in the family nails new ones to the old frame, "
    "so that by now hardly any of the wood that he chose himself is left in it.",
    "She says that it is still his.",
]


@pytest.fixture(scope="module")
def late(starter: Starter, stack: Stack, minilm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway that allows late chunking in small windows, of a model that does not pool its prompts."""
    folder = tmp_path_factory.mktemp("late")
    model = folder / "model"
    shutil.copytree(minilm, model, ignore=shutil.ignore_patterns("*.safetensors", "*.onnx"))
    pooling = model / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps({**json.loads(pooling.read_text()), "include_prompt": False}))
    rules = {
        "lateChunking": True,
        "documentWindows": {"tokens": TOKENS, "overlapTokens": OVERLAP},
        "prompts": {"query": PROMPT},
    }
    (folder / "embedding.json").write_text(json.dumps(rules))
    gateway = starter.gateway([stack.engine], "--model", str(model), "--embedding", str(folder / "embedding.json"))
    yield gateway
    starter.stop(gateway.program)


@pytest.fixture(scope="module")
def states(minilm: Path) -> Any:
    """The states of all tokens of a sequence, from transformers."""
    model = AutoModel.from_pretrained(str(minilm), dtype=torch.float32).eval()

    def of(ids: Sequence[int]) -> NDArray[np.float64]:
        with torch.no_grad():
            return model(torch.tensor([list(ids)])).last_hidden_state[0].double().numpy()

    return of


@pytest.fixture(scope="module")
def body_of(minilm: Path) -> Any:
    inner = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    inner.no_padding()
    inner.no_truncation()
    return lambda text: inner.encode(text, add_special_tokens=False).ids


def _post(url: str, path: str, **body: Any) -> Any:
    answer = requests.post(url + path, json={"model": "minilm", **body}, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _cosine(a: Any, b: Any) -> float:
    return float(np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b))


def _chunks(url: str, document: Sequence[str]) -> list[list[float]]:
    [answer] = _post(url, "/v1/contextualizedembeddings", inputs=[document])["data"]
    return [each["embedding"] for each in answer["data"]]


def test_chunks_are_pooled_from_one_pass_over_their_document(late: Gateway, states: Any, body_of: Any) -> None:
    chunks = [body_of(chunk) for chunk in DOCUMENT[:2]]
    edges = [0, 1 + len(chunks[0]), 2 + len(chunks[0]) + len(chunks[1])]
    whole = states([CLS, *chunks[0], *chunks[1], SEP])
    assert len(whole) <= TOKENS
    for place, found in enumerate(_chunks(late.url, DOCUMENT[:2])):
        wanted = whole[edges[place] : edges[place + 1]].mean(axis=0)
        assert _cosine(found, wanted) >= 0.99999
        assert abs(np.linalg.norm(found) - 1) < 1e-5


def test_the_rest_of_a_document_changes_the_vector_of_a_chunk(late: Gateway) -> None:
    among, alone = _chunks(late.url, DOCUMENT[1:4])[1], _chunks(late.url, DOCUMENT[2:3])[0]
    assert _cosine(among, alone) < 0.99


def test_a_document_that_is_too_long_is_pooled_from_windows_that_share_tokens(
    late: Gateway, states: Any, body_of: Any
) -> None:
    body = [token for chunk in DOCUMENT for token in body_of(chunk)]
    room = TOKENS - 2
    begins = [*range(0, len(body) - room, room - OVERLAP), len(body) - room]
    assert len(begins) >= 3
    inner = [(left + room + right) // 2 for left, right in pairwise(begins)]
    own: list[NDArray[np.float64]] = []
    for place, begin in enumerate(begins):
        seen = states([CLS, *body[begin : begin + room], SEP])
        first = 0 if place == 0 else inner[place - 1] - begin + 1
        last = len(seen) if place == len(begins) - 1 else inner[place] - begin + 1
        own.append(seen[first:last])
    tokens = np.concatenate(own)
    assert len(tokens) == len(body) + 2
    edges = np.cumsum([1, *(len(body_of(chunk)) for chunk in DOCUMENT)])
    edges[0], edges[-1] = 0, len(tokens)
    for place, found in enumerate(_chunks(late.url, DOCUMENT)):
        wanted = tokens[edges[place] : edges[place + 1]].mean(axis=0)
        assert _cosine(found, wanted) >= 0.99999, place


def test_a_prompt_is_seen_and_not_pooled_as_sentence_transformers_does(late: Gateway, minilm: Path) -> None:
    model = SentenceTransformer(str(minilm), device="cpu")
    pooled = np.asarray(model.encode(DOCUMENT, prompt=PROMPT))
    model.set_pooling_include_prompt(False)
    wanted = np.asarray(model.encode(DOCUMENT, prompt=PROMPT))
    data = _post(late.url, "/v1/embeddings", input=DOCUMENT, input_type="query")["data"]
    for found, expected, other in zip(data, wanted, pooled, strict=True):
        assert _cosine(found["embedding"], expected) >= 0.99999
        assert _cosine(found["embedding"], other) < 0.999


def test_a_long_text_in_windows_is_the_mean_of_their_means_by_tokens(stack: Stack, states: Any, body_of: Any) -> None:
    text = " ".join(DOCUMENT * 5)
    body = body_of(text)
    count = -(-len(body) // 254)
    assert count >= 2
    edges = [len(body) * place // count for place in range(count + 1)]
    windows = [body[begin:end] for begin, end in pairwise(edges)]
    mean = sum(len(window) * states([CLS, *window, SEP]).mean(axis=0) for window in windows) / len(body)
    [found] = _post(stack.url, "/v1/embeddings", input=text, truncate="chunk")["data"]
    assert _cosine(found["embedding"], mean) >= 0.99999
    [small] = _post(stack.url, "/v1/embeddings", input=text, truncate="chunk", output_dtype="int8")["data"]
    assert np.abs(np.array(small["embedding"]) - 127 * np.tanh(mean)).max() < 0.51


def test_all_types_of_one_pass_are_those_of_a_pass_of_their_own(stack: Stack, states: Any, body_of: Any) -> None:
    types = ["float", "float16", "bfloat16", "int8", "uint8", "binary", "ubinary"]
    together = _post(stack.url, "/v2/embed", texts=DOCUMENT, embedding_types=types)["embeddings"]
    assert list(together) == types
    for name in types:
        alone = _post(stack.url, "/v1/embeddings", input=DOCUMENT, output_dtype=name)["data"]
        assert together[name] == [each["embedding"] for each in alone], name
    for found, text in zip(together["int8"], DOCUMENT, strict=True):
        mean = states([CLS, *body_of(text), SEP]).mean(axis=0)
        assert np.abs(np.array(found) - 127 * np.tanh(mean)).max() < 0.51
