"""The real OpenAI client for Python with its default settings, against a served gateway."""

import asyncio

import grpc
import numpy as np
import openai
import pytest


@pytest.fixture
async def client(gateway):
    async with openai.AsyncOpenAI(base_url=f"{gateway.url}/v1", api_key="any") as made:
        yield made


async def test_async_vectors_and_usage(client, gateway):
    found = await client.embeddings.create(model="minilm", input=["one", "two words"])
    numbers = await gateway.embed(input=["one", "two words"])
    np.testing.assert_array_equal(
        np.array([each.embedding for each in found.data], dtype=np.float32),
        np.array([each["embedding"] for each in numbers.body["data"]], dtype=np.float32),
    )
    assert [each.index for each in found.data] == [0, 1]
    assert found.usage.prompt_tokens == numbers.body["usage"]["prompt_tokens"]


async def test_sync_vectors(gateway):
    def embed() -> int:
        with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="any") as client:
            assert [model.id for model in client.models.list()] == ["minilm", "all-minilm-l6-v2"]
            return len(client.embeddings.create(model="minilm", input="text", dimensions=4).data[0].embedding)

    assert await asyncio.to_thread(embed) == 4


async def test_a_batch_of_2048(client):
    found = await client.embeddings.create(model="minilm", input=[f"text {number}" for number in range(2048)])
    assert [each.index for each in found.data] == list(range(2048))


async def test_errors_become_the_clients_own(client):
    with pytest.raises(openai.BadRequestError) as refused:
        await client.embeddings.create(model="minilm", input=["a", ""])
    assert refused.value.param == "input[1]"
    with pytest.raises(openai.NotFoundError) as unknown:
        await client.embeddings.create(model="gpt", input="a")
    assert unknown.value.code == "model_not_found"


async def test_a_retry_is_made_when_the_gateway_said_that_it_is_worth_it(client, engine, gateway, until):
    engine.error = grpc.StatusCode.RESOURCE_EXHAUSTED
    call = asyncio.create_task(client.embeddings.create(model="minilm", input="a"))
    await until(lambda: len(engine.calls) > 0)
    engine.error = None
    assert len((await call).data) == 1
    assert await gateway.metric('trellis_gateway_requests_total{route="/v1/embeddings",status="429"}') == 1
