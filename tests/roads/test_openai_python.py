"""The openai Python client with its default settings against the gateway."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import openai
import pytest
from numpy.typing import NDArray
from openai import AsyncOpenAI, OpenAI
from openai.types import CreateEmbeddingResponse
from roadkit.busy import Busy
from roadkit.stack import KEY, Gateway, Stack, Starter
from roadkit.waiting import until
from tokenizers import Tokenizer

pytestmark = pytest.mark.processes

_LONG_ENOUGH_TO_BE_REFUSED = "a " * 200


@pytest.fixture
def client(stack: Stack) -> OpenAI:
    return OpenAI(base_url=f"{stack.url}/v1", api_key="unused")


def _matrix(answer: CreateEmbeddingResponse) -> NDArray[np.float64]:
    assert [each.index for each in answer.data] == list(range(len(answer.data)))
    return np.asarray([each.embedding for each in answer.data])


def test_vectors_and_usage_are_as_documented(client: OpenAI, tokenizer: Tokenizer) -> None:
    texts = ["hello world", "a somewhat longer text about tulips"]
    answer = client.embeddings.create(model="minilm", input=texts)
    tokens = sum(len(tokenizer.encode(text)) for text in texts)
    assert (answer.object, answer.data[0].object) == ("list", "embedding")
    assert answer.usage.prompt_tokens == answer.usage.total_tokens == tokens
    vectors = _matrix(answer)
    assert vectors.shape == (2, 384)
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5


def test_every_form_of_input_is_taken(client: OpenAI, tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("hello world").ids
    forms: list[str | list[str] | list[int] | list[list[int]]] = ["hello world", ["hello world"], ids, [ids]]
    vectors = [_matrix(client.embeddings.create(model="minilm", input=form)) for form in forms]
    for each in vectors[1:]:
        assert np.abs(each - vectors[0]).max() < 1e-5


def test_floats_equal_the_default_encoding(client: OpenAI) -> None:
    packed = client.embeddings.create(model="minilm", input="one and the same")
    written = client.embeddings.create(model="minilm", input="one and the same", encoding_format="float")
    assert np.abs(_matrix(packed) - _matrix(written)).max() < 1e-6


def test_2048_inputs_come_back_in_their_order(client: OpenAI) -> None:
    texts = [f"number {index % 64} " + "and more " * (index % 5) for index in range(2048)]
    vectors = _matrix(client.embeddings.create(model="minilm", input=texts))
    for place in (0, 63, 64, 1000, 2047):
        alone = _matrix(client.embeddings.create(model="minilm", input=texts[place]))[0]
        assert np.abs(vectors[place] - alone).max() < 1e-5
        assert np.abs(vectors[place] - vectors[place - 1]).max() > 1e-3


async def test_async_calls_keep_apart(stack: Stack) -> None:
    async with AsyncOpenAI(base_url=f"{stack.url}/v1", api_key="unused") as client:
        texts = [f"text {index}" for index in range(32)]
        answers = await asyncio.gather(*(client.embeddings.create(model="minilm", input=text) for text in texts))
        together = _matrix(await client.embeddings.create(model="minilm", input=texts))
    alone = np.concatenate([_matrix(answer) for answer in answers])
    assert np.abs(alone - together).max() < 1e-5


def test_models_are_listed(client: OpenAI) -> None:
    assert "minilm" in [model.id for model in client.models.list()]


def test_a_model_suffix_chooses_the_prompt(client: OpenAI) -> None:
    suffixed = _matrix(client.embeddings.create(model="minilm-query", input="tulips"))
    prompted = _matrix(client.embeddings.create(model="minilm", input="query: tulips"))
    plain = _matrix(client.embeddings.create(model="minilm", input="tulips"))
    assert np.abs(suffixed - prompted).max() < 1e-5
    assert np.abs(suffixed - plain).max() > 1e-3


def test_a_bad_request_is_a_bad_request_error(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        client.embeddings.create(model="minilm", input=["fine", ""])
    assert (caught.value.param, caught.value.type) == ("input[1]", "invalid_request_error")
    with pytest.raises(openai.BadRequestError) as caught:
        client.embeddings.create(model="minilm", input="word " * 300)
    assert caught.value.code == "context_length_exceeded"


def test_a_wrong_key_is_an_authentication_error(guarded: Gateway) -> None:
    with pytest.raises(openai.AuthenticationError) as caught:
        OpenAI(base_url=f"{guarded.url}/v1", api_key="wrong").embeddings.create(model="minilm", input="a")
    assert caught.value.code == "invalid_api_key"
    friend = OpenAI(base_url=f"{guarded.url}/v1", api_key=KEY)
    assert len(friend.embeddings.create(model="minilm", input="a").data) == 1


def test_an_unknown_model_is_a_not_found_error(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        client.embeddings.create(model="gpt-5", input="a")
    assert caught.value.code == "model_not_found"


def test_a_queue_that_stays_full_is_a_rate_limit_error(busy: Busy) -> None:
    client = OpenAI(base_url=f"{busy.stack.url}/v1", api_key="unused")
    with busy.full(), pytest.raises(openai.RateLimitError) as caught:
        client.embeddings.create(model="minilm", input=_LONG_ENOUGH_TO_BE_REFUSED)
    assert caught.value.code == "overloaded"
    assert int(caught.value.response.headers["retry-after"]) >= 1


def test_a_queue_that_empties_is_found_by_a_retry(busy: Busy) -> None:
    # How long the queue takes to empty is the machine's affair: two retries, the default, may be too few.
    client = OpenAI(base_url=f"{busy.stack.url}/v1", api_key="unused", max_retries=10)
    create = client.embeddings.with_raw_response.create
    with busy.full(), ThreadPoolExecutor() as pool:
        refused = _refused(busy.stack)
        waiting = pool.submit(create, model="minilm", input=_LONG_ENOUGH_TO_BE_REFUSED)
        until(lambda: _refused(busy.stack) > refused, "the first try was refused")
        busy.faults.release()
        answer = waiting.result()
    assert answer.retries_taken >= 1
    assert len(answer.parse().data[0].embedding) == 384


def test_no_engine_is_an_error_of_the_server_that_is_retried(starter: Starter) -> None:
    gateway = starter.gateway([], wait=False)
    client = OpenAI(base_url=f"{gateway.url}/v1", api_key="unused", max_retries=1)
    with pytest.raises(openai.InternalServerError) as caught:
        client.embeddings.create(model="minilm", input="a")
    starter.stop(gateway.program)
    assert (caught.value.status_code, caught.value.code) == (503, "no_engine_ready")


def _refused(stack: Stack) -> float:
    return stack.gateway.metric("rejections_total", room="tokens")
