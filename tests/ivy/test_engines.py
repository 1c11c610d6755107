"""Engines that come, go, fail and change, behind a served gateway."""

import asyncio

import grpc
import pytest
from ivy.client.picking import pinned
from ivy.client.watch import LEAST_PERIOD_S


def ready(gateway) -> int:
    return len(gateway.gateway.engines.cards())


@pytest.fixture
async def pair(serve, engines, until):
    """A gateway that sees both of its engines ready."""
    gateway = await serve(*engines)
    await until(lambda: ready(gateway) == 2)
    return gateway


@pytest.mark.parametrize("code", ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "CANCELLED"])
async def test_what_one_engine_cannot_answer_another_one_is_asked(pair, engines, code):
    engines[0].error = grpc.StatusCode[code]
    answers = [await pair.embed(input=f"text {number}") for number in range(20)]
    assert [answer.status for answer in answers] == [200] * 20
    assert len(engines[0].calls) >= 1
    assert await pair.metric("trellis_gateway_retries_total") >= 1
    assert await pair.metric(f'trellis_gateway_engine_errors_total{{code="{code}"}}') >= 1


@pytest.mark.parametrize("code", ["INTERNAL", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED"])
async def test_what_would_fail_elsewhere_too_is_not_asked_again(pair, engines, code):
    for engine in engines:
        engine.error = grpc.StatusCode[code]
    assert (await pair.embed(input="a")).status in (500, 504)
    assert sum(len(engine.calls) for engine in engines) == 1


async def test_a_call_is_asked_again_once_and_no_more(pair, engines):
    for engine in engines:
        engine.error = grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (await pair.embed(input="a")).status == 429
    assert [len(engine.calls) for engine in engines] == [1, 1]


async def test_without_a_retry_budget_a_failure_is_passed_on(serve, engines, until):
    gateway = await serve(*engines, retry_budget_percent=0)
    await until(lambda: ready(gateway) == 2)
    for engine in engines:
        engine.error = grpc.StatusCode.UNAVAILABLE
    assert (await gateway.embed(input="a")).status == 503
    assert sum(len(engine.calls) for engine in engines) == 1
    assert await gateway.metric("trellis_gateway_retries_refused_total") == 1


async def test_an_engine_that_dies_under_load_is_not_seen_by_callers(pair, engines, until):
    for engine in engines:
        engine.gate.clear()
    calls = [asyncio.create_task(pair.embed(input=f"text {number}")) for number in range(40)]
    await until(lambda: sum(engine.waiting for engine in engines) == 40)
    assert all(engine.waiting for engine in engines)
    engines[1].gate.set()
    await engines[0].stop()
    assert {answer.status for answer in await asyncio.gather(*calls)} == {200}
    assert ready(pair) == 1


async def test_the_only_engine_gone_is_503_and_comes_back_without_help(serve, engine, until, FakeEngine):
    gateway = await serve(engine)
    assert (await gateway.embed(input="a")).status == 200
    await engine.stop()
    answer = await gateway.embed(input="a")
    assert answer.status == 503
    assert int(answer.headers["retry-after"]) >= 1
    again = await FakeEngine(port=engine.port).start()

    async def answered() -> bool:
        return (await gateway.embed(input="a")).status == 200

    await until(answered)
    await again.stop()


async def test_an_engine_that_lost_a_call_is_not_asked_again_before_it_was_looked_at(pair, engines, monkeypatch):
    monkeypatch.setattr("ivy.client.watch.Watch._look", lambda _: asyncio.sleep(60))
    engines[0].error = grpc.StatusCode.UNAVAILABLE
    for number in range(30):
        assert (await pair.embed(input=f"text {number}")).status == 200
    assert len(engines[0].calls) == 1


async def test_looks_that_see_nothing_new_decide_nothing_anew_and_the_first_that_does_does(
    pair, engines, until, monkeypatch
):
    decided = []
    monkeypatch.setattr("ivy.client.engines.pinned", lambda *given: decided.append(1) or pinned(*given))
    monkeypatch.setattr("ivy.client.watch.READY_PERIOD_S", LEAST_PERIOD_S)
    looks = engines[1].looks
    await until(lambda: engines[1].looks >= looks + 5)
    assert not decided
    await engines[0].serving(False)
    await until(lambda: ready(pair) == 1)
    assert decided == [1]


async def test_an_engine_that_says_it_drains_is_left_alone(pair, engines, until):
    await engines[0].serving(False)
    await until(lambda: ready(pair) == 1)
    for number in range(20):
        assert (await pair.embed(input=f"text {number}")).status == 200
    assert not engines[0].calls
    assert await pair.metric(f'trellis_gateway_endpoint_up{{engine="127.0.0.1:{engines[0].port}"}}') == 0


async def test_engines_of_another_digest_are_not_used(serve, engines, until):
    engines[1].digest = "sha256:two"
    gateway = await serve(*engines, model_digest="sha256:two")
    for number in range(20):
        assert (await gateway.embed(input=f"text {number}")).status == 200
    assert not engines[0].calls
    assert len(engines[1].calls) == 20


async def test_engines_that_hold_other_files_of_the_same_model_are_not_used(serve, engines, until, caplog):
    engines[0].contents, engines[1].contents = "x", "y"
    gateway = await serve(*engines, model_digest="sha256:one")
    await until(lambda: all(each.ready for each in gateway.gateway.engines.endpoints))
    for number in range(20):
        assert (await gateway.embed(input=f"text {number}")).status == 200
    used = [engine for engine in engines if engine.calls]
    assert len(used) == 1
    assert {call.model_digest for call in used[0].calls} == {f"sha256:one+{used[0].contents}"}
    assert "gets no calls: it holds another model or other files of it" in caplog.text


async def test_an_engine_with_the_files_of_another_tokenizer_makes_no_gateway_ready(serve, engine, until):
    engine.contents, engine.texts = "x", "another tokenizer"
    gateway = await serve(engine, model_digest="sha256:one", ready=False)
    await until(lambda: any(each.ready for each in gateway.gateway.engines.endpoints))
    assert (await gateway.embed(input="a")).status == 503


async def test_a_wrong_digest_everywhere_is_503(serve, engine, until):
    gateway = await serve(engine, model_digest="sha256:other", ready=False)
    await until(lambda: any(each.ready for each in gateway.gateway.engines.endpoints))
    assert (await gateway.embed(input="a")).status == 503


async def test_the_pinned_digest_moves_when_its_last_engine_is_gone(serve, engines, until):
    gateway = await serve(*engines)
    await until(lambda: ready(gateway) == 2)
    engines[1].digest = "sha256:two"
    await until(lambda: ready(gateway) == 1)
    await engines[0].stop()
    await until(lambda: [card.digest for card in gateway.gateway.engines.cards()] == ["sha256:two"])
    assert (await gateway.embed(input="a")).status == 200
    assert engines[1].calls[-1].model_digest == "sha256:two"


async def test_an_answer_of_another_digest_is_never_given(gateway, engine):
    engine.digest = "sha256:two"
    assert (await gateway.embed(input="a")).status == 500


async def test_an_engine_whose_calls_fail_while_it_says_that_it_serves_is_ejected(pair, engines, until):
    engines[0].error = grpc.StatusCode.UNAVAILABLE
    ejected = f'trellis_gateway_ejections_total{{engine="127.0.0.1:{engines[0].port}"}}'

    async def is_ejected() -> bool:
        assert (await pair.embed(input="a")).status == 200
        return await pair.metric(ejected) >= 1

    await until(is_ejected)
