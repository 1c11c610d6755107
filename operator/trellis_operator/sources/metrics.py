"""The numbers of a fetch for Prometheus, served while it runs. Never counts anything itself."""

from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics, start_http_server

from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.progress import Progress


class FetchMetrics:
    """What a scrape sees of one fetch."""

    def __init__(self, progress: Progress) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        for name, text, read in (
            ("trellis_fetch_total_bytes", "Size of the model", lambda: progress.total_bytes),
            ("trellis_fetch_present_bytes", "Bytes that are here by now", lambda: progress.present_bytes),
            ("trellis_fetch_received_bytes", "Bytes that this run received", lambda: progress.received_bytes),
        ):
            Gauge(name, text, registry=self.registry).set_function(read)
        self._failures = Counter(
            "trellis_fetch_failed_attempts",
            "Attempts that failed and were made again",
            ["reason"],
            registry=self.registry,
        )
        for reason in Reason:
            if reason.passes:
                self._failures.labels(reason.value)

    def count(self, error: FetchError) -> None:
        """Count an attempt that failed and is made again."""
        self._failures.labels(error.reason.value).inc()

    def serve(self, host: str, port: int) -> None:
        """Answer scrapes until the process ends.

        Raises:
            FetchError: BAD_SOURCE when the address cannot be listened on.
        """
        try:
            start_http_server(port, host, registry=self.registry)
        except OSError as error:
            said = f"--metrics-listen {host}:{port} cannot be listened on: {error.strerror}"
            raise FetchError(Reason.BAD_SOURCE, said) from error
