import threading
import time
from collections import deque
from collections.abc import Callable

import numpy as np
import pytest
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.errors import EngineDeadError, StepError, TooLargeError
from tulip_rose.rose.lazy import LazyTensor, Part
from tulip_rose.rose.loop import EngineLoop
from tulip_rose.sequence import Embedded, OutputForm, Sequence

DEADLINE_S = 10.0


class FakeLaunch:
    """A step that is done when the test says so."""

    def __init__(self, batch: Batch, failure: BaseException | None) -> None:
        self.batch, self.failure = batch, failure
        self.came = 0.0
        self.done = threading.Event()

    def reached(self) -> bool:
        return self.done.is_set()

    def wait(self, timeout_s: float | None) -> tuple[Part, ...]:
        assert self.done.wait(DEADLINE_S)
        self.came = time.monotonic()
        if self.failure is not None:
            raise self.failure
        rows = np.repeat(self.batch.token_ids[:, None], 2, axis=1).astype(np.float32)
        return (Part(rows, np.isfinite(rows).all(axis=1)),)


class FakeEngine:
    def __init__(self, fail: Callable[[Batch], BaseException | None] = lambda batch: None) -> None:
        self.launches: list[FakeLaunch] = []
        self.launched = threading.Condition()
        self.fail = fail

    def step(self, batch: Batch) -> LazyTensor:
        launch = FakeLaunch(batch, self.fail(batch))
        with self.launched:
            self.launches.append(launch)
            self.launched.notify_all()
        return LazyTensor(launch, batch.places)

    def wait_for(self, count: int) -> None:
        with self.launched:
            assert self.launched.wait_for(lambda: len(self.launches) >= count, DEADLINE_S)


class FakeSource:
    """Hands out the batches it was given."""

    def __init__(self) -> None:
        self.batches: deque[list[Sequence]] = deque()
        self.results: list[list[Sequence]] = []
        self.closed = False
        self.changed = threading.Condition()

    def take(self, block: bool) -> list[Sequence] | None:
        with self.changed:
            if block:
                assert self.changed.wait_for(lambda: self.batches or self.closed, DEADLINE_S)
            if self.batches:
                return self.batches.popleft()
            return None if self.closed else []

    def settled(self, sequences: list[Sequence]) -> None:
        with self.changed:
            self.results.append(sequences)
            self.changed.notify_all()

    def put(self, *batches: list[Sequence]) -> None:
        with self.changed:
            self.batches.extend(batches)
            self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.results) >= count, DEADLINE_S)


def one(token: int) -> list[Sequence]:
    return [Sequence.whole(np.array([token], dtype=np.int32), OutputForm(2), arrival=0.0)]


@pytest.fixture
def source() -> FakeSource:
    return FakeSource()


def run(engine: FakeEngine, source: FakeSource) -> EngineLoop:
    loop = EngineLoop(engine, source)
    loop.start()
    return loop


def end(loop: EngineLoop, source: FakeSource) -> None:
    source.close()
    assert loop.join(DEADLINE_S)


def test_a_batch_is_launched_before_the_one_before_it_is_done_and_a_third_is_not(source: FakeSource) -> None:
    engine = FakeEngine()
    source.put(one(1), one(2), one(3))
    loop = run(engine, source)
    engine.wait_for(2)
    assert not source.results
    assert len(engine.launches) == 2
    engine.launches[0].done.set()
    engine.wait_for(3)
    assert [batch[0].token_ids[0] for batch in source.results] == [1]
    for launch in engine.launches:
        launch.done.set()
    source.wait_for(3)
    end(loop, source)
    assert [batch[0].token_ids[0] for batch in source.results] == [1, 2, 3]


def test_rows_reach_the_sequences_they_belong_to(source: FakeSource) -> None:
    engine = FakeEngine()
    batch = [*one(9), *one(4), *one(6)]
    source.put(batch)
    loop = run(engine, source)
    engine.wait_for(1)
    engine.launches[0].done.set()
    source.wait_for(1)
    end(loop, source)
    for sequence in batch:
        assert isinstance(sequence.outcome, Embedded)
        expected = np.full(2, sequence.token_ids[0], dtype=np.float32)
        assert sequence.outputs[0].rows == expected.tobytes()
        assert sequence.outputs[0].failed_rows == ()


@pytest.mark.parametrize("where", ["launch", "result"])
def test_a_step_that_raises_fails_its_batch_and_the_next_one_goes_on(source: FakeSource, where: str) -> None:
    engine = FakeEngine()
    if where == "launch":
        step = engine.step

        def failing(batch: Batch) -> LazyTensor:
            if batch.token_ids[0] == 1:
                raise RuntimeError("boom")
            return step(batch)

        engine.step = failing  # type: ignore[method-assign]
    else:
        engine.fail = lambda batch: StepError("boom") if batch.token_ids[0] == 1 else None
    bad, good = one(1), one(2)
    source.put(bad, good)
    loop = run(engine, source)
    engine.wait_for(1 if where == "launch" else 2)
    for launch in engine.launches:
        launch.done.set()
    source.wait_for(2)
    end(loop, source)
    assert isinstance(bad[0].outcome, StepError)
    assert isinstance(good[0].outcome, Embedded)
    assert loop.failure is None


NO_ROOM = TooLargeError("no room")


@pytest.mark.parametrize("halves", [[NO_ROOM, EngineDeadError("gone")], [NO_ROOM] * 2])
def test_a_device_that_dies_while_a_batch_is_halved_leaves_no_text_without_an_answer(
    source: FakeSource, halves: list[Exception]
) -> None:
    engine, failures = FakeEngine(), deque([*halves, EngineDeadError("gone")])

    def dying(batch: Batch) -> LazyTensor:
        raise failures.popleft()

    engine.step = dying  # type: ignore[method-assign]
    batch = [sequence for token in range(8) for sequence in one(token)]
    source.put(batch)
    loop = run(engine, source)
    source.wait_for(1)
    assert loop.join(DEADLINE_S)
    assert all(isinstance(sequence.outcome, EngineDeadError) for sequence in batch)
    assert sum(map(len, source.results)) == len(batch)


def test_what_the_device_took_and_what_came_after_are_told_apart(source: FakeSource) -> None:
    engine = FakeEngine()
    batch = one(1)
    source.put(batch)
    loop = run(engine, source)
    engine.wait_for(1)
    engine.launches[0].done.set()
    source.wait_for(1)
    end(loop, source)
    outcome = batch[0].outcome
    assert isinstance(outcome, Embedded)
    step = outcome.step
    assert step.came == engine.launches[0].came
    assert step.taken <= step.packed <= step.began <= step.came < step.settled


@pytest.mark.parametrize("error", [EngineDeadError("gone"), SystemExit(3)])
def test_an_engine_that_cannot_go_on_says_so_and_fails_all_that_is_in_flight(
    source: FakeSource, error: BaseException
) -> None:
    engine = FakeEngine(lambda batch: error)
    first, second = one(1), one(2)
    source.put(first, second)
    loop = run(engine, source)
    engine.wait_for(2)
    for launch in engine.launches:
        launch.done.set()
    source.wait_for(2)
    assert loop.join(DEADLINE_S)
    assert loop.failure is error
    assert isinstance(first[0].outcome, EngineDeadError)
    assert isinstance(second[0].outcome, EngineDeadError)


def test_a_step_under_way_shows_how_long_it_has_run_and_an_idle_engine_does_not(source: FakeSource) -> None:
    engine = FakeEngine()
    loop = run(engine, source)
    assert loop.stuck_s(now=1e12) == 0.0
    source.put(one(1))
    engine.wait_for(1)
    assert loop.stuck_s(now=1e12) > 1e11
    engine.launches[0].done.set()
    source.wait_for(1)
    end(loop, source)
    assert loop.stuck_s(now=1e12) == 0.0


def test_a_closed_source_ends_the_thread_after_what_is_in_flight(source: FakeSource) -> None:
    engine = FakeEngine()
    batches = [one(1), one(2)]
    source.put(*batches)
    loop = run(engine, source)
    engine.wait_for(2)
    source.close()
    for launch in engine.launches:
        launch.done.set()
    assert loop.join(DEADLINE_S)
    assert all(isinstance(batch[0].outcome, Embedded) for batch in batches)


def test_a_result_that_is_there_is_handed_out_before_the_next_batch_begins(source: FakeSource) -> None:
    settled_at_launch: list[int] = []

    class Quick(FakeEngine):
        """Done by the time it is launched, as a CPU is."""

        def step(self, batch: Batch) -> LazyTensor:
            settled_at_launch.append(len(source.results))
            result = super().step(batch)
            self.launches[-1].done.set()
            return result

    source.put(one(1), one(2), one(3))
    loop = run(Quick(), source)
    source.wait_for(3)
    end(loop, source)
    assert settled_at_launch == [0, 1, 2]
