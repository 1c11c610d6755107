"""More work than there is room for, and callers that do not wait for their answer."""

import asyncio

import aiohttp
import pytest

TEXT = "several words of a text " * 30


async def test_above_the_bound_callers_are_told_when_to_come_again(serve, engine, until):
    gateway = await serve(engine, max_queued_tokens=1000)
    engine.gate.clear()
    calls = [asyncio.create_task(gateway.embed(input=TEXT)) for _ in range(50)]
    await until(lambda: sum(call.done() for call in calls) > 40)
    engine.gate.set()
    answers = await asyncio.gather(*calls)
    assert {answer.status for answer in answers} == {200, 429}
    refused = [answer for answer in answers if answer.status == 429]
    assert all(answer.body["error"]["code"] == "overloaded" for answer in refused)
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
    assert all(int(answer.headers["retry-after-ms"]) >= 1 for answer in refused)
    assert await gateway.metric('trellis_gateway_rejections_total{room="tokens"}') == len(refused)
    assert gateway.gateway.life.under_way == 0
    assert await gateway.metric("trellis_gateway_in_flight_tokens") == 0
    assert await gateway.metric("trellis_gateway_in_flight_body_bytes") == 0


async def test_tokens_under_way_are_the_real_ones_once_they_are_known(serve, engine, until):
    gateway = await serve(engine)
    engine.gate.clear()
    call = asyncio.create_task(gateway.embed(input=["a b c d e f g h", "+-*/" * 40]))
    await until(lambda: engine.waiting == 1)
    under_way = await gateway.metric("trellis_gateway_in_flight_tokens")
    engine.gate.set()
    assert under_way == (await call).body["usage"]["total_tokens"] == 172


async def test_a_refusal_costs_no_tokenization(serve, engine, until, monkeypatch):
    gateway = await serve(engine, max_queued_tokens=300)
    engine.gate.clear()
    first = asyncio.create_task(gateway.embed(input=TEXT))
    await until(lambda: engine.waiting == 1)
    monkeypatch.setattr("ivy.tokenize.tokenizer.Tokenizer.ids", lambda *_: pytest.fail("it was tokenized"))
    assert (await gateway.embed(input=[TEXT] * 100)).status == 429
    assert (await gateway.embed(input=TEXT)).status == 429
    engine.gate.set()
    assert (await first).status == 200


async def test_a_batch_above_the_bound_is_served_when_nothing_else_is(serve, engine):
    gateway = await serve(engine, max_queued_tokens=300, chunk_tokens=200)
    answer = await gateway.embed(input=[TEXT] * 20)
    assert answer.status == 200
    assert len(answer.body["data"]) == 20


async def test_a_large_batch_does_not_fill_the_queue_of_an_engine(serve, engine, until):
    gateway = await serve(engine, chunk_tokens=150)
    engine.gate.clear()
    batch = asyncio.create_task(gateway.embed(input=[TEXT] * 20))
    await until(lambda: engine.waiting == 2)
    assert (len(engine.calls), engine.waiting) == (2, 2)
    engine.gate.set()
    assert (await batch).status == 200
    assert len(engine.calls) == 20


async def test_callers_that_hang_up_take_their_calls_with_them(gateway, engine, until):
    engine.gate.clear()
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        body = {"model": "minilm", "input": "a"}
        calls = [asyncio.create_task(client.post(f"{gateway.url}/v1/embeddings", json=body)) for _ in range(50)]
        await until(lambda: engine.waiting == 50)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    await until(lambda: engine.cancelled == 50)
    assert await gateway.metric("trellis_gateway_cancelled_requests_total") == 50
    assert await gateway.metric('trellis_gateway_requests_total{route="/v1/embeddings",status="499"}') == 50
    assert await gateway.metric("trellis_gateway_in_flight_tokens") == 0
    engine.gate.set()
    assert (await gateway.embed(input="a")).status == 200


async def test_one_failed_chunk_cancels_the_others(serve, engines, until):
    gateway = await serve(*engines, chunk_tokens=150)
    await until(lambda: len(gateway.gateway.engines.cards()) == 2)
    engines[0].failed_rows = (0,)
    engines[1].gate.clear()
    answer = await gateway.embed(input=[TEXT] * 8)
    assert answer.status == 500
    await until(lambda: engines[1].waiting == 0)
    assert sum(each.outstanding_tokens for each in gateway.gateway.engines.endpoints) == 0


async def test_a_body_that_never_ends_is_given_up(serve, engine, monkeypatch):
    monkeypatch.setattr("ivy.body.BODY_TIMEOUT_S", 0.1)
    gateway = await serve(engine)
    host, port = gateway.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(b'POST /v1/embeddings HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"model"')
    async with asyncio.timeout(10):
        assert (await reader.readline()).startswith(b"HTTP/1.1 408")
    writer.close()
