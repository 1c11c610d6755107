"""Spans are sent, or dropped and counted; whoever ends one never waits, and neither does the end for ever."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from trellis_wire.tracing.outcomes import EXPORT_FAILED, EXPORTED, QUEUE_FULL
from trellis_wire.tracing.span_queue import BATCH_SPANS, MOST_SPANS, SpanQueue

DEADLINE_S = 30.0
NEVER_S = 3600.0
"""Only whole batches, and the end, send."""


class Held(SpanExporter):
    """Sends when it is let to, and does as told."""

    def __init__(self) -> None:
        self.free = threading.Event()
        self.free.set()
        self.called = threading.Event()
        self.failures: list[SpanExportResult | Exception] = []
        """Of the next exports, one each."""
        self.batches: list[int] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.called.set()
        assert self.free.wait(DEADLINE_S)
        self.batches.append(len(spans))
        result = self.failures.pop(0) if self.failures else SpanExportResult.SUCCESS
        if isinstance(result, Exception):
            raise result
        return result

    def shutdown(self) -> None:
        self.free.set()


@pytest.fixture
def exporter() -> Held:
    return Held()


@pytest.fixture
def ended() -> Counter[str]:
    return Counter()


@pytest.fixture
def queue(exporter: Held, ended: Counter[str]) -> Iterator[SpanQueue]:
    queue = SpanQueue(exporter, counting(ended), NEVER_S)
    yield queue
    queue.close(DEADLINE_S)


def counting(ended: Counter[str]) -> Callable[[str, int], None]:
    def count(outcome: str, spans: int) -> None:
        ended[outcome] += spans

    return count


def fill(queue: SpanQueue, spans: int) -> None:
    for number in range(spans):
        queue.on_end(ReadableSpan(f"span {number}"))


def test_the_end_sends_what_waits(queue: SpanQueue, exporter: Held, ended: Counter[str]) -> None:
    fill(queue, 3)
    queue.close(DEADLINE_S)
    assert (sum(exporter.batches), ended) == (3, {EXPORTED: 3})


def test_no_batch_is_too_large(queue: SpanQueue, exporter: Held) -> None:
    fill(queue, 2 * BATCH_SPANS + 1)
    queue.close(DEADLINE_S)
    assert sum(exporter.batches) == 2 * BATCH_SPANS + 1
    assert max(exporter.batches) <= BATCH_SPANS


def test_what_finds_no_room_is_dropped_and_counted(queue: SpanQueue, exporter: Held, ended: Counter[str]) -> None:
    exporter.free.clear()
    fill(queue, BATCH_SPANS)
    assert exporter.called.wait(DEADLINE_S)
    held = BATCH_SPANS
    fill(queue, MOST_SPANS + 7)
    assert ended[QUEUE_FULL] == 7
    exporter.free.set()
    queue.close(DEADLINE_S)
    assert ended == {QUEUE_FULL: 7, EXPORTED: held + MOST_SPANS}


@pytest.mark.parametrize("result", [SpanExportResult.FAILURE, RuntimeError("a collector's words")])
def test_what_is_not_taken_is_counted_and_the_next_is_sent(
    queue: SpanQueue, exporter: Held, ended: Counter[str], result: SpanExportResult | Exception
) -> None:
    exporter.failures.append(result)
    fill(queue, BATCH_SPANS)
    assert exporter.called.wait(DEADLINE_S)
    fill(queue, 1)
    queue.close(DEADLINE_S)
    assert ended == {EXPORT_FAILED: BATCH_SPANS, EXPORTED: 1}


def test_an_end_does_not_wait_for_a_collector_that_does_not_answer(
    exporter: Held, ended: Counter[str], caplog: pytest.LogCaptureFixture
) -> None:
    queue = SpanQueue(exporter, counting(ended), NEVER_S)
    exporter.free.clear()
    fill(queue, BATCH_SPANS)
    assert exporter.called.wait(DEADLINE_S)
    fill(queue, 2)
    queue.close(0.01)
    assert "2 spans of traces were not sent in time" in caplog.text
