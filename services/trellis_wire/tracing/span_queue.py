"""`SpanQueue`: between those who end spans and the collector. Bounded: what finds no room is dropped and counted.

Whoever ends a span never waits. A collector that is slow or away costs spans, and nothing else.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from trellis_wire.tracing.outcomes import EXPORT_FAILED, EXPORTED, QUEUE_FULL

MOST_SPANS = 4096
"""That wait: a second of some hundred traced requests, and a few megabytes."""
BATCH_SPANS = 512
INTERVAL_S = 1.0
"""Spans wait no longer than this for others to travel with."""
_LAST_S = 0.5
"""For an export that is told to give up."""

_log = logging.getLogger(__name__)


class SpanQueue(SpanProcessor):
    """Sends spans from a thread of its own."""

    def __init__(
        self, exporter: SpanExporter, ended: Callable[[str, int], None], interval_s: float = INTERVAL_S
    ) -> None:
        """Send what waits once in `interval_s`, or sooner where it is a whole batch.

        `ended` is told what became of how many spans; it is called from any thread.
        """
        self._exporter = exporter
        self._ended = ended
        self._interval_s = interval_s
        self._spans: deque[ReadableSpan] = deque()
        self._wake = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="spans", daemon=True)
        self._thread.start()

    def on_end(self, span: ReadableSpan) -> None:
        """Take a span, or drop it."""
        if len(self._spans) >= MOST_SPANS:
            self._ended(QUEUE_FULL, 1)
            return
        self._spans.append(span)
        if len(self._spans) >= BATCH_SPANS:
            self._wake.set()

    def close(self, timeout_s: float) -> None:
        """Send what waits, and give up after `timeout_s` seconds."""
        self._closing = True
        self._wake.set()
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            _log.warning("%d spans of traces were not sent in time", len(self._spans))
        self._exporter.shutdown()
        self._thread.join(_LAST_S)

    def _run(self) -> None:
        while not self._closing:
            self._wake.wait(self._interval_s)
            self._wake.clear()
            self._send()
        self._send()

    def _send(self) -> None:
        while self._spans:
            batch = [self._spans.popleft() for _ in range(min(len(self._spans), BATCH_SPANS))]
            self._ended(EXPORTED if self._sent(batch) else EXPORT_FAILED, len(batch))

    def _sent(self, batch: list[ReadableSpan]) -> bool:
        try:
            return self._exporter.export(batch) is SpanExportResult.SUCCESS
        except Exception as error:
            # Whatever an exporter may raise: the thread that sends must live on, or no span is ever sent again.
            _log.error("spans of traces were not sent: %s", type(error).__name__)
            return False
