"""`Metrics`: every family that the gateway counts, with every label value at zero from the start.

Only engines come and go: their labels do so with them.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

import grpc
from prometheus_client import (
    GC_COLLECTOR,
    PLATFORM_COLLECTOR,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.exposition import choose_encoder
from trellis_wire.tracing.outcomes import OUTCOMES

from ivy.client.endpoint import Endpoint
from ivy.timing import STAGES, Timing
from ivy.tokenize.native.choice import Fallback

OTHER = "other"
"""The route of a path that nobody serves: callers must not make label values."""
SIZES = (512, 8192)
"""Most tokens of a small and of a medium request: each class has a time of its own that it may take."""

_PREFIX = "trellis_gateway_"
_SECONDS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


class Held(StrEnum):
    """How a wait for an engine ended."""

    SERVED = "served"
    EXPIRED = "expired"
    REFUSED = "refused"
    """Before it began: there was no room."""
    LEFT = "left"
    """The caller hung up, or this gateway stops."""


FAILURES = ("unreachable", "refused", "status", "expired", "error_event", "garbage", "stalled", "slow")
"""Why the set of engines could not be renewed, or the watch of it broke."""
ENDS = ("ended", "due")
"""Why a healthy watch was opened again: the server closed it, or it was time for a full list."""


@dataclass(frozen=True, slots=True)
class EndpointCounters:
    """What is counted of one engine. Counting goes on unseen when its labels are gone."""

    tokens: Counter
    ejections: Counter


class DiscoveryMetrics:
    """How well a set of engines, or of gateways, is known."""

    def __init__(self, registry: CollectorRegistry, prefix: str, known: str, whom: str) -> None:
        """`known` names the gauge of what is known, `prefix` stands before the others, `whom` is for eyes."""

        def named(name: str) -> str:
            return _PREFIX + prefix + name

        restarts = Counter(
            named("watch_restarts"), f"Watches of {whom} that ended or did not begin.", ["reason"], registry=registry
        )
        self.restarts = {reason: restarts.labels(reason) for reason in (*ENDS, *FAILURES)}
        lists = Counter(named("relists"), f"Full lists of {whom}.", ["outcome"], registry=registry)
        self.lists = {outcome: lists.labels(outcome) for outcome in ("ok", "failed")}
        self.whom = whom
        self.age = Gauge(
            named("sync_age_seconds"), f"Since the API server last said something about {whom}.", registry=registry
        )
        text = f"{whom.capitalize()} known, by what the cluster says of them."
        states = Gauge(_PREFIX + known, text, ["state"], registry=registry)
        self.known = {state: states.labels(state) for state in ("ready", "not_ready", "terminating")}


class Metrics:
    """What `/metrics` shows."""

    def __init__(self, routes: Iterable[str], statuses: Iterable[int], *, exemplars: bool = False) -> None:
        """`exemplars`: whether `exposition` has them, for those who ask in a format that can."""
        self._exemplars = exemplars
        # A `_created` series beside each counter doubles what is scraped, and says only when the process began.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        for collector in (GC_COLLECTOR, PLATFORM_COLLECTOR):
            self._registry.register(collector)
        ProcessCollector(registry=self._registry)
        requests = self._counter("requests", "Requests answered, by route and status.", "route", "status")
        self.requests = {
            (route, status): requests.labels(route, str(status)) for route in (*routes, OTHER) for status in statuses
        }
        self.tokens = self._counter("tokens", "Tokens embedded or scored, special ones included.")
        self.inputs = self._counter("inputs", "Inputs embedded or scored.")
        self.cancelled = self._counter("cancelled_requests", "Requests whose caller hung up.")
        self.retries = self._counter("retries", "Calls asked again on another engine.")
        self.retries_refused = self._counter("retries_refused", "Calls not asked again: the retry budget was empty.")
        rejections = self._counter(
            "rejections", "Requests refused for lack of room, by what there was none of.", "room"
        )
        self.rejections = {room: rejections.labels(room) for room in ("tokens", "bytes")}
        holds = self._counter(
            "held_requests_ended", "Requests that waited for an engine or found no room to, by how it ended.", "outcome"
        )
        self.holds = {outcome: holds.labels(outcome) for outcome in Held}
        errors = self._counter("engine_errors", "Calls to engines that failed, by gRPC code.", "code")
        self.engine_errors = {code.name: errors.labels(code.name) for code in grpc.StatusCode}
        self._endpoint_tokens = self._counter("endpoint_tokens", "Tokens that an engine embedded or scored.", "engine")
        self._ejections = self._counter("ejections", "Times an engine was left out after failures.", "engine")
        fallback = self._gauge(
            "tokenizer_fallback", "Whether the library tokenizes, which is slower, and for what reason.", "reason"
        )
        self._fallback = {reason: fallback.labels(reason.value) for reason in Fallback}
        spans = self._counter("spans", "Spans of traces, by what became of them.", "outcome")
        self._spans = {outcome: spans.labels(outcome) for outcome in OUTCOMES}
        self._describe_state()
        self._describe_times()

    def answered(self, tokens: int, timing: Timing) -> None:
        """A request of so many tokens was answered as it should be."""
        exemplar = timing.trace.exemplar if timing.trace is not None else None
        total_s = timing.total_s()
        for stage, child in self._stages:
            child.observe(getattr(timing, stage), exemplar)
        self._total.observe(total_s, exemplar)
        self._answers[sum(tokens > most for most in SIZES)].observe(total_s - timing.hold_s, exemplar)

    def spans_ended(self, outcome: str, spans: int) -> None:
        """This became of so many spans."""
        self._spans[outcome].inc(spans)

    def _describe_times(self) -> None:
        stages = Histogram(
            _PREFIX + "stage_seconds",
            "Time of each stage of a request; hold: a wait while there is no engine, queue to settle: of an engine.",
            ["stage"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._stages = [(f"{stage}_s", stages.labels(stage)) for stage in STAGES]
        self._total = stages.labels("total")
        answers = Histogram(
            _PREFIX + "request_seconds",
            "Time of requests answered with vectors or scores, without hold, by the most tokens of their class.",
            ["max_tokens"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._answers = [answers.labels(most) for most in (*map(str, SIZES), "any")]

    def tokenizes(self, fallback: Fallback | None) -> None:
        """Show why the library tokenizes; None: the compiled tokenizer does."""
        for reason, gauge in self._fallback.items():
            gauge.set(reason is fallback)

    def endpoint_came(self, endpoint: Endpoint) -> EndpointCounters:
        """Show the state of an engine from now on; gives what is counted of it."""
        self._up.labels(endpoint.address).set_function(lambda: float(endpoint.ready))
        self._outstanding.labels(endpoint.address).set_function(lambda: float(endpoint.outstanding_tokens))
        return EndpointCounters(
            self._endpoint_tokens.labels(endpoint.address), self._ejections.labels(endpoint.address)
        )

    def endpoint_left(self, address: str) -> None:
        """Show nothing of an engine any more."""
        for family in (self._up, self._outstanding, self._endpoint_tokens, self._ejections):
            family.remove(address)

    def discovery(self) -> DiscoveryMetrics:
        """The families of a set of engines that is read from a cluster; there are none where nobody asks for them."""
        return DiscoveryMetrics(self._registry, "", "endpoints", "engines")

    def peers(self) -> DiscoveryMetrics:
        """The families of the set of gateways, which is read where there are many engines."""
        return DiscoveryMetrics(self._registry, "peer_", "peers", "gateways")

    def connected(self) -> Callable[[float], None]:
        """Takes how many of the known engines this gateway holds a connection to."""
        return self._gauge("endpoints_connected", "Engines that a connection is held to.").set

    def exposition(self) -> bytes:
        """All families in Prometheus text."""
        return generate_latest(self._registry)

    def answer(self, accept: str) -> tuple[bytes, str]:
        """All families and their content type: Prometheus text, or what `accept` asks for where there are exemplars."""
        encode, content_type = choose_encoder(accept if self._exemplars else "")
        return encode(self._registry), content_type

    def _describe_state(self) -> None:
        self.requests_in_flight = self._gauge("requests_in_flight", "Requests being answered.")
        self.in_flight_tokens = self._gauge(
            "in_flight_tokens", "Tokens of accepted requests that are not answered yet."
        )
        self.in_flight_bytes = self._gauge("in_flight_body_bytes", "Bytes of bodies held for requests under way.")
        self.asleep = self._gauge(
            "asleep",
            "1 while there is no engine because nobody asks: a request would wait for one to come.",
        )
        self.held_requests = self._gauge("held_requests", "Requests that wait while there is no engine.")
        self.held_tokens = self._gauge(
            "held_tokens", "About how many tokens wait while there is no engine, or left unanswered in the last minute."
        )
        self._up = self._gauge("endpoint_up", "Whether an engine is ready.", "engine")
        self._outstanding = self._gauge("endpoint_outstanding_tokens", "Tokens sent and not yet answered.", "engine")

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(_PREFIX + name, text, labels, registry=self._registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(_PREFIX + name, text, labels, registry=self._registry)
