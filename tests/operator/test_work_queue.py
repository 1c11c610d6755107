"""The queue of models that want a visit. Time is an argument where nobody has to be woken."""

import asyncio

import pytest
from trellis_operator.cluster.work_queue import WorkQueue


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def next_of(queue: WorkQueue[str]) -> str:
    async with asyncio.timeout(5):
        return await queue.get()


async def nothing_now(queue: WorkQueue[str]) -> bool:
    """Whether a worker would have to wait."""
    waiting = asyncio.create_task(queue.get())
    for _ in range(5):
        await asyncio.sleep(0)
    waits = not waiting.done()
    waiting.cancel()
    return waits


async def test_a_key_that_is_added_often_is_visited_once() -> None:
    queue: WorkQueue[str] = WorkQueue(Clock())
    for _ in range(5):
        queue.add("a")
    assert await next_of(queue) == "a"
    queue.done("a")
    assert await nothing_now(queue)


async def test_no_two_workers_have_the_same_key_and_what_came_meanwhile_is_visited_after() -> None:
    queue: WorkQueue[str] = WorkQueue(Clock())
    queue.add("a")
    assert await next_of(queue) == "a"
    queue.add("a")
    assert await nothing_now(queue)
    queue.done("a")
    assert await next_of(queue) == "a"


async def test_a_later_visit_waits_for_its_time_and_an_earlier_wish_overtakes_it() -> None:
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.add("a", 60)
    assert queue.waiting() == 0
    assert await nothing_now(queue)
    queue.add("a", 10)
    queue.add("a", 30)
    clock.now += 10
    assert await next_of(queue) == "a"
    queue.done("a")
    clock.now += 100
    assert await nothing_now(queue), "the later wish was the same one"


async def test_a_worker_that_waits_is_woken_by_a_new_key() -> None:
    queue: WorkQueue[str] = WorkQueue()
    waiting = asyncio.create_task(next_of(queue))
    await asyncio.sleep(0)
    queue.add("a")
    assert await waiting == "a"


async def test_a_worker_wakes_when_the_time_of_a_key_comes() -> None:
    queue: WorkQueue[str] = WorkQueue()
    queue.add("a", 0.05)
    assert await next_of(queue) == "a"


async def test_how_long_the_oldest_waits_is_told() -> None:
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock)
    assert queue.oldest_s() == 0
    queue.add("later", 1000)
    assert queue.oldest_s() == 0
    queue.add("a")
    clock.now += 7
    queue.add("b")
    assert queue.oldest_s() == pytest.approx(7)
    assert queue.waiting() == 2
