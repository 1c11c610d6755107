"""More than it can do, and callers who hang up: refused or dropped, and nothing grows."""

import asyncio
from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest
from roadkit.faults import Faults
from roadkit.load import Tally, keep_busy, offer, send, session
from roadkit.stack import Stack, Starter
from roadkit.waiting import until, until_async
from tokenizers import Tokenizer

from bench.texts import cut, endless, english

pytestmark = pytest.mark.processes

_TEXTS, _TOKENS = 8, 128
_REQUEST_TOKENS = _TEXTS * _TOKENS
_QUEUED_TOKENS = 16 * _REQUEST_TOKENS
_OVERLOAD_S = 30.0
_SETTLED_S = 15.0
_CALIBRATION_S = 4.0
_GROWTH_BYTES = 32 * 2**20
_CALLERS = 200


@pytest.fixture
def bounded(starter: Starter) -> Iterator[Stack]:
    """A stack where 16 of the test's requests may wait."""
    stack = starter.stack(flags=["--max-queued-tokens", str(_QUEUED_TOKENS)])
    yield stack
    starter.stop(*stack.programs)


@pytest.fixture
def faults(tmp_path_factory: pytest.TempPathFactory) -> Faults:
    return Faults(tmp_path_factory.mktemp("faults"))


@pytest.fixture
def held(starter: Starter, faults: Faults) -> Iterator[Stack]:
    """A stack whose engine does nothing until it is released."""
    stack = starter.stack(starter.engine(code=faults.code, name="engine-held"))
    faults.hold()
    yield stack
    faults.release()
    starter.stop(*stack.programs)


@pytest.fixture(scope="module")
def requests(tokenizer: Tokenizer) -> list[list[str]]:
    """Distinct requests of 8 English texts of at most 128 tokens."""
    texts = [cut(text, _TOKENS, tokenizer) for text in islice(endless(english(), Random(4)), 20 * _TEXTS)]
    return [texts[start : start + _TEXTS] for start in range(0, len(texts), _TEXTS)]


async def _capacity(stack: Stack, requests: list[list[str]]) -> float:
    """Requests a second that it answers to three callers who wait."""

    async def for_a_while(tally: Tally) -> None:
        await asyncio.sleep(_CALIBRATION_S)

    tally = await keep_busy(stack.url, requests, 3, for_a_while)
    assert set(tally.statuses) == {200}
    return tally.statuses[200] / _CALIBRATION_S


@pytest.mark.timeout(180)
async def test_three_times_too_much_is_answered_or_refused_and_nothing_grows(
    bounded: Stack, requests: list[list[str]]
) -> None:
    capacity = await _capacity(bounded, requests)
    load = asyncio.create_task(offer(bounded.url, requests, 3 * capacity, _OVERLOAD_S))
    await asyncio.sleep(_SETTLED_S)
    early = [program.resident_bytes for program in bounded.programs]
    assert await asyncio.to_thread(bounded.engine.health, "liveness") == "SERVING"
    tally = await load
    late = [program.resident_bytes for program in bounded.programs]

    assert set(tally.statuses) == {200, 429}
    assert all(each.retry_after for each in tally.outcomes if each.status == 429)
    # What may wait, twice over for a machine that is now also busy with refusing, and a second for everything else.
    bound_s = 1.0 + 2 * (_QUEUED_TOKENS / _REQUEST_TOKENS + 4) / capacity
    assert tally.quantile(200, 0.99) < bound_s
    assert tally.quantile(429, 0.5) < tally.quantile(200, 0.5)
    assert all(after - before < _GROWTH_BYTES for before, after in zip(early, late, strict=True)), f"{early} {late}"
    until(lambda: bounded.engine.waiting_tokens() == 0, "nothing waits any more")


async def test_the_texts_of_200_callers_who_hang_up_never_reach_the_device(held: Stack, faults: Faults) -> None:
    first, theirs = [[101] * 50], [[101] * 20, [102] * 20]
    before = held.engine.metric("tokens_total")
    async with session() as client:
        stays = asyncio.create_task(send(client, held.url, first))
        await until_async(lambda: held.engine.metric("tokens_total") == before + 50, "the first one is on the device")
        leave = [asyncio.create_task(send(client, held.url, theirs)) for _ in range(_CALLERS)]
        await until_async(lambda: held.engine.metric("queued_tokens") == _CALLERS * 40, "the others wait behind it")
        for caller in leave:
            caller.cancel()
        await asyncio.gather(*leave, return_exceptions=True)
        await until_async(lambda: held.engine.metric("queued_tokens") == 0, "what they left was dropped")
        faults.release()
        assert (await stays).status == 200
        assert (await send(client, held.url, [[101] * 7])).status == 200
    assert held.engine.metric("tokens_total") == before + 57
    assert held.engine.metric("dropped_sequences_total", reason="cancelled") == 2 * _CALLERS
