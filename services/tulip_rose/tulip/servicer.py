"""The `trellis.v1.Embedding` service. Translates, and nothing else: decisions lie in the queue, work in the engine."""

import asyncio
import logging
import time
from importlib.metadata import version
from typing import TYPE_CHECKING

import grpc
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1 import embedding_pb2_grpc
from trellis_wire.v1.metadata import ids_of

from tulip_rose.rose.errors import RoseError
from tulip_rose.sequence import Sequence
from tulip_rose.tulip.calls import Calls
from tulip_rose.tulip.errors import NotServing, QueueFull
from tulip_rose.tulip.info import Room, info_of, start_of
from tulip_rose.tulip.metrics import Metrics
from tulip_rose.tulip.status import status_of
from tulip_rose.tulip.warmup import Warmup
from tulip_rose.tulip.wire import response_of, sequences_of

if TYPE_CHECKING:
    from tulip_rose.tulip.traces import CallTrace, Traces

LONGEST_CALL_S = 600.0
"""For callers that set no deadline: no wait is without one."""

_log = logging.getLogger(__name__)
_Context = grpc.aio.ServicerContext[pb.EmbedRequest, pb.EmbedResponse]
_InfoContext = grpc.aio.ServicerContext[pb.InfoRequest, pb.InfoResponse]


class EmbeddingServicer(embedding_pb2_grpc.EmbeddingServicer):
    """Answers UNAVAILABLE until `open` gives it a loaded model."""

    def __init__(self, metrics: Metrics, name: str, warmup: Warmup, traces: "Traces | None" = None) -> None:
        self._metrics, self._name, self._warmup = metrics, name, warmup
        self._traces = traces
        self._room: Room | None = None
        self._version = version("trellis-serve")

    def open(self, room: Room) -> None:
        """The model is loaded: calls are taken from now on."""
        self._room = room

    async def Embed(self, request: pb.EmbedRequest, context: _Context) -> pb.EmbedResponse:  # noqa: N802 (gRPC's name)
        """Embed one chunk."""
        trace = None if self._traces is None else self._traces.begin(context.invocation_metadata() or ())
        try:
            response = await self._embed(request, context.time_remaining(), trace)
        except asyncio.CancelledError:
            self._ended("CANCELLED", request, context, trace)
            raise
        except Exception as error:
            return await self._refuse(error, request, context, trace)
        self._ended("OK", request, context, trace)
        return response

    async def Info(self, request: pb.InfoRequest, context: _InfoContext) -> pb.InfoResponse:  # noqa: N802
        """Tell the card of the model, and how far the start is."""
        if self._room is None and not request.starting:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "the model is loading")
        if self._room is None:
            info = pb.InfoResponse(model_name=self._name, version=self._version)
        else:
            info = info_of(self._room, self._version)
        info.MergeFrom(start_of(self._warmup))
        return info

    async def _embed(
        self, request: pb.EmbedRequest, remaining_s: float | None, trace: "CallTrace | None"
    ) -> pb.EmbedResponse:
        if self._room is None:
            raise NotServing("the model is loading")
        room = self._room
        timeout_s = LONGEST_CALL_S if remaining_s is None else min(remaining_s, LONGEST_CALL_S)
        now = time.monotonic()
        sequences = sequences_of(request, room.card, now, now + timeout_s, room.contents.whole)
        if trace is None:
            await room.calls.run(sequences, timeout_s)
        else:
            await _run_traced(room.calls, sequences, timeout_s, trace)
        response = response_of(sequences, room.card, room.queue.outstanding_tokens, request.model_digest)
        self._metrics.queue_seconds.observe(response.queue_ms / 1000, None if trace is None else trace.exemplar)
        failed = len(response.failed_rows) + sum(len(output.failed_rows) for output in response.also)
        if failed:
            self._metrics.nonfinite_rows.inc(failed)
        return response

    def _ended(self, code: str, request: pb.EmbedRequest, context: _Context, trace: "CallTrace | None") -> None:
        self._metrics.call_ended(code)
        if trace is not None:
            trace.end(code)
        if _log.isEnabledFor(logging.DEBUG):
            fields = {**_ids(context), "code": code, "sequences": len(request.lengths) // 4}
            _log.debug("a call ended", extra={"fields": fields})

    async def _refuse(
        self, error: Exception, request: pb.EmbedRequest, context: _Context, trace: "CallTrace | None"
    ) -> pb.EmbedResponse:
        """End the call with the status of the error. `abort` raises, so nothing is returned."""
        code, text = status_of(error)
        self._ended(code.name, request, context, trace)
        if isinstance(error, QueueFull):
            self._metrics.rejected.inc()
        if code is grpc.StatusCode.INTERNAL:
            # ROSE has logged its own failures with a traceback; anything else is a fault here.
            own = not isinstance(error, RoseError)
            _log.error("a call failed: %s", error, exc_info=own, extra={"fields": _ids(context)})
        queued = 0 if self._room is None else self._room.queue.outstanding_tokens
        await context.abort(code, text, (("trellis-queued-tokens", str(queued)),))


async def _run_traced(calls: Calls, sequences: list[Sequence], timeout_s: float, trace: "CallTrace") -> None:
    for sequence in sequences:
        sequence.trace = trace
    await calls.run(sequences, timeout_s)
    trace.embedded(sequences)


def _ids(context: _Context) -> dict[str, str]:
    """What a log line calls a call by."""
    return ids_of(context.invocation_metadata() or ())
