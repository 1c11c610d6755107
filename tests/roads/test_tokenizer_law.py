"""64 requests at once that alternate truncation, lengths and prompts: none changes another's tokens."""

import asyncio
from dataclasses import dataclass
from random import Random
from typing import Any

import aiohttp
import numpy as np
import pytest
from numpy.typing import NDArray
from roadkit.http import Answer
from roadkit.load import session
from roadkit.stack import EMBEDDING, Stack
from tokenizers import Tokenizer

pytestmark = pytest.mark.processes

_REQUESTS = 64
_MAX_TOKENS = 256
_TRUNCATIONS = ("none", "end", "start", True, False)
_WORDS = ("tulip", "rose", "ivy", "grows", "on", "a", "trellis", "über", "水", "unbelievably", "x9", "—")


@dataclass(frozen=True)
class Asked:
    """One request, and what the model should see of it; no ids mean that it is to be refused."""

    fields: dict[str, Any]
    ids: list[list[int]] | None


def _ids(tokenizer: Tokenizer, text: str, truncate: object) -> list[int] | None:
    """What the tokenizer gives for the whole text, cut by hand between its two special tokens."""
    ids = list(tokenizer.encode(text).ids)
    if len(ids) <= _MAX_TOKENS:
        return ids
    kept = _MAX_TOKENS - 2
    if truncate in ("end", True):
        return [*ids[: 1 + kept], ids[-1]]
    if truncate == "start":
        return [ids[0], *ids[-1 - kept :]]
    return None


def _asked(number: int, random: Random, tokenizer: Tokenizer) -> Asked:
    truncate = _TRUNCATIONS[number % len(_TRUNCATIONS)]
    prompt = (None, "query", "document")[number % 3]
    words = random.choice([1, 5, 40, 200, 400, 3000])
    texts = [" ".join(random.choices(_WORDS, k=words)) for _ in range(1 + number % 3)]
    before = EMBEDDING["prompts"][prompt] if prompt else ""
    cut = [_ids(tokenizer, before + text, truncate) for text in texts]
    fields = {"input": texts, "truncate": truncate} | ({"prompt_name": prompt} if prompt else {})
    whole = [ids for ids in cut if ids is not None]
    return Asked(fields, whole if len(whole) == len(cut) else None)


async def _send(client: aiohttp.ClientSession, url: str, fields: dict[str, Any]) -> Answer:
    body = {"model": "minilm", "encoding_format": "base64"} | fields
    async with client.post(f"{url}/v1/embeddings", json=body) as response:
        return Answer(response.status, dict(response.headers), await response.read())


async def test_parallel_requests_never_mix_their_truncation_lengths_or_prompts(
    stack: Stack, tokenizer: Tokenizer
) -> None:
    random = Random(64)
    asked = [_asked(number, random, tokenizer) for number in range(_REQUESTS)]
    async with session() as client:
        answers = await asyncio.gather(*(_send(client, stack.url, each.fields) for each in asked))
        expected = [await _send(client, stack.url, {"input": each.ids}) if each.ids else None for each in asked]
    assert sum(each is None for each in expected) > 5
    assert sum(each is not None for each in expected) > 30
    for each, answer, by_ids in zip(asked, answers, expected, strict=True):
        _compare(each, answer, by_ids.vectors if by_ids else None)


def _compare(asked: Asked, answer: Answer, vectors: NDArray[np.float32] | None) -> None:
    if asked.ids is None or vectors is None:
        assert (answer.status, answer.error["code"]) == (400, "context_length_exceeded")
        return
    assert answer.json["usage"]["prompt_tokens"] == sum(map(len, asked.ids))
    assert np.abs(answer.vectors - vectors).max() < 1e-5
