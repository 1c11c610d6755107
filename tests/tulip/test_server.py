"""Tulip over real gRPC, with a toy engine at ROSE's border."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import grpc
import numpy as np
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from trellis_wire.contents import read_contents
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import pack_spans, unpack_rows
from tulip_rose.rose.card import ModelCard

DEADLINE_S = 30.0
Request = Callable[..., pb.EmbedRequest]


def rows_of(response: pb.EmbedResponse, count: int) -> list[list[float]]:
    return unpack_rows(response.rows, count, response.vector_type, response.dimensions).tolist()


async def code_of(call: object) -> grpc.StatusCode:
    with pytest.raises(grpc.aio.AioRpcError) as refusal:
        await call
    return refusal.value.code()


async def test_rows_come_back_in_the_order_of_the_texts(serving, request_for: Request) -> None:
    async with serving() as served:
        response = await served.stub.Embed(request_for([[5, 6, 7], [1], [2, 3]]), timeout=DEADLINE_S)
        assert rows_of(response, 3) == [[5, 7, 3, 1], [1, 1, 1, 1], [2, 3, 2, 1]]
        assert response.model_digest == "digest-1"
        assert response.forward_ms > 0


async def test_each_span_has_its_row(serving, request_for: Request) -> None:
    async with serving() as served:
        spans = pack_spans([[(0, 2), (2, 3)], [(1, 2)]])
        response = await served.stub.Embed(request_for([[5, 6, 7], [1, 2]], spans=spans), timeout=DEADLINE_S)
        assert rows_of(response, 3) == [[5, 6, 2, 1], [7, 7, 1, 1], [2, 2, 1, 1]]


async def test_many_callers_at_once_get_their_own_rows(serving, request_for: Request) -> None:
    async with serving(max_batch_tokens=256) as served:

        async def ask(number: int) -> None:
            ids = [[number, index] * (1 + index % 9) for index in range(number % 13 + 1)]
            response = await served.stub.Embed(request_for(ids), timeout=DEADLINE_S)
            assert rows_of(response, len(ids)) == [[own[0], own[-1], len(own), 1] for own in ids]

        await asyncio.gather(*(ask(number) for number in range(200)))
        assert max(served.engine.batches) <= 256
        assert await served.metric("trellis_engine_calls_total", code="OK") == 200
        assert served.process._queue.outstanding_tokens == 0


async def test_what_arrives_while_the_device_is_busy_is_the_next_batch(serving, request_for: Request, until) -> None:
    async with serving() as served:
        busy = await served.hold()
        calls = [asyncio.ensure_future(served.stub.Embed(request_for([[1] * 10]), timeout=DEADLINE_S)) for _ in "12345"]
        await until(lambda: served.process._queue.outstanding_tokens == 51)
        served.engine.free.set()
        await asyncio.gather(busy, *calls)
        assert served.engine.batches == [1, 50]


async def test_a_row_that_is_not_finite_is_named_and_the_others_are_answered(serving, request_for: Request) -> None:
    async with serving() as served:
        response = await served.stub.Embed(request_for([[1], [999], [2]]), timeout=DEADLINE_S)
        assert list(response.failed_rows) == [1]
        assert await served.metric("trellis_engine_nonfinite_rows_total") == 1


async def test_a_bad_request_is_an_invalid_argument_and_is_counted(serving, request_for: Request) -> None:
    async with serving() as served:
        call = served.stub.Embed(request_for([[1, 5000]]), timeout=DEADLINE_S)
        assert await code_of(call) is grpc.StatusCode.INVALID_ARGUMENT
        assert "token 1 of sequence 0 is 5000" in await call.details()
        assert await served.metric("trellis_engine_calls_total", code="INVALID_ARGUMENT") == 1


async def test_a_call_for_another_digest_is_a_failed_precondition(serving, request_for: Request) -> None:
    async with serving() as served:
        call = served.stub.Embed(request_for([[1]], model_digest="other"), timeout=DEADLINE_S)
        assert await code_of(call) is grpc.StatusCode.FAILED_PRECONDITION


async def test_a_full_queue_answers_at_once_with_its_tokens(serving, request_for: Request, until) -> None:
    async with serving(max_batch_tokens=256, max_queued_tokens=256) as served:
        busy = await served.hold()
        waits = asyncio.ensure_future(served.stub.Embed(request_for([[1] * 200]), timeout=DEADLINE_S))
        await until(lambda: served.process._queue.outstanding_tokens == 201)
        call = served.stub.Embed(request_for([[1] * 100]), timeout=DEADLINE_S)
        assert await code_of(call) is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert ("trellis-queued-tokens", "201") in list(await call.trailing_metadata())
        served.engine.free.set()
        await asyncio.gather(busy, waits)
        assert await served.metric("trellis_engine_rejected_calls_total") == 1


async def test_a_call_whose_deadline_passes_in_the_queue_never_reaches_the_device(
    serving, request_for: Request, until
) -> None:
    async with serving() as served:
        busy = await served.hold()
        call = served.stub.Embed(request_for([[1] * 50, [2] * 50]), timeout=0.2)
        assert await code_of(call) is grpc.StatusCode.DEADLINE_EXCEEDED
        await until(lambda: served.process._queue.outstanding_tokens == 1)
        served.engine.free.set()
        await busy
        assert served.engine.tokens == 1
        assert await served.metric("trellis_engine_dropped_sequences_total", reason="deadline") == 2


async def test_callers_that_hang_up_never_reach_the_device(serving, request_for: Request, until) -> None:
    async with serving() as served:
        busy = await served.hold()
        calls = [served.stub.Embed(request_for([[1] * 50]), timeout=DEADLINE_S) for _ in range(200)]
        await until(lambda: served.process._queue.outstanding_tokens == 10_001)
        for call in calls:
            call.cancel()
        await until(lambda: served.process._queue.outstanding_tokens == 1)
        served.engine.free.set()
        await busy
        assert served.engine.tokens == 1
        assert await served.metric("trellis_engine_tokens_total") == 1
        assert await served.metric("trellis_engine_dropped_sequences_total", reason="cancelled") == 200


async def test_a_caller_that_hangs_up_under_way_harms_nobody(serving, request_for: Request) -> None:
    async with serving() as served:
        busy = await served.hold()
        busy.cancel()
        served.engine.free.set()
        response = await served.stub.Embed(request_for([[3]]), timeout=DEADLINE_S)
        assert rows_of(response, 1) == [[3, 3, 1, 1]]


async def test_a_step_that_raises_fails_its_batch_alone(serving, request_for: Request) -> None:
    async with serving() as served:
        served.engine.failures.append(RuntimeError("out of cheese"))
        call = served.stub.Embed(request_for([[1]]), timeout=DEADLINE_S)
        assert await code_of(call) is grpc.StatusCode.INTERNAL
        assert "cheese" not in await call.details()
        response = await served.stub.Embed(request_for([[3]]), timeout=DEADLINE_S)
        assert rows_of(response, 1) == [[3, 3, 1, 1]]
        assert await served.metric("trellis_engine_step_failures_total") == 1
        assert await served.metric("trellis_engine_sequences_total", outcome="failed") == 1


async def test_the_rest_of_a_call_whose_first_batch_failed_is_dropped(serving, request_for: Request, until) -> None:
    async with serving(max_batch_tokens=256) as served:
        busy = await served.hold()
        call = served.stub.Embed(request_for([[1] * 256] * 50), timeout=DEADLINE_S)
        await until(lambda: served.process._queue.outstanding_tokens == 1 + 50 * 256)
        served.engine.failures.append(RuntimeError("out of cheese"))
        served.engine.free.set()
        assert await code_of(call) is grpc.StatusCode.INTERNAL
        await busy
        await until(lambda: served.process._queue.outstanding_tokens == 0)
        dropped = await served.metric("trellis_engine_dropped_sequences_total", reason="engine")
        assert dropped + len(served.engine.batches) == 50


async def test_a_message_of_32_mib_passes_both_ways(serving, toy, request_for: Request) -> None:
    wide = toy(ModelCard("Wide", "float32", "cpu", "none", 4096, (), 4096, 1000, "mean", True, "digest-1"))
    async with serving(wide, max_queued_tokens=10_000_000) as served:
        ids = [[index % 900] * 4096 for index in range(2048)]
        request = request_for(ids)
        assert request.ByteSize() > 32 * 1024 * 1024
        response = await served.stub.Embed(request, timeout=120)
        rows = unpack_rows(response.rows, 2048, response.vector_type, response.dimensions)
        assert np.array_equal(rows[:, 0], np.arange(2048) % 900)


async def test_a_message_above_the_limit_is_refused(serving, request_for: Request) -> None:
    async with serving() as served:
        request = pb.EmbedRequest(token_ids=bytes(65 * 1024 * 1024), vector_type=pb.VECTOR_TYPE_FLOAT32)
        assert await code_of(served.stub.Embed(request, timeout=DEADLINE_S)) is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_info_tells_the_card_and_the_limits(serving) -> None:
    async with serving(max_batch_tokens=512, max_queued_tokens=1024) as served:
        info = await served.stub.Info(pb.InfoRequest(), timeout=DEADLINE_S)
        assert (info.model_name, info.model_digest, info.architecture) == ("toy", "digest-1", "ToyModel")
        assert (info.dimensions, list(info.allowed_dimensions), info.max_input_tokens) == (4, [2], 256)
        assert (info.max_batch_tokens, info.max_queued_tokens, info.queued_tokens) == (512, 1024, 0)
        assert (info.vocabulary_size, info.pooling, info.normalize) == (1000, "mean", True)
        assert info.version


async def test_an_engine_tells_what_it_has_loaded_and_refuses_calls_for_anything_else(
    serving, request_for: Request, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text("{}")
    held = read_contents(tmp_path)
    began = time.time()
    async with serving(warm=True) as served:
        info = await served.stub.Info(pb.InfoRequest(), timeout=DEADLINE_S)
        assert (info.contents, info.texts) == (held.whole, held.texts)
        assert began <= info.ready_since <= time.time()
        asked = request_for([[1]], model_digest=f"digest-1+{held.whole}")
        assert (await served.stub.Embed(asked, timeout=DEADLINE_S)).model_digest == asked.model_digest
        other = served.stub.Embed(request_for([[1]], model_digest="digest-1+other"), timeout=DEADLINE_S)
        assert await code_of(other) is grpc.StatusCode.FAILED_PRECONDITION
        assert await served.metric("trellis_engine_info", contents=held.whole) == 1


async def test_reflection_lists_the_services(serving) -> None:
    async with serving() as served:
        stub = reflection_pb2_grpc.ServerReflectionStub(served.channel)
        asked = iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        answers = [answer async for answer in stub.ServerReflectionInfo(asked, timeout=DEADLINE_S)]
        names = {service.name for service in answers[0].list_services_response.service}
        assert names == {
            "trellis.v1.Embedding",
            "grpc.health.v1.Health",
            "grpc.reflection.v1alpha.ServerReflection",
        }


async def test_every_metric_is_there_at_zero_from_the_start(serving, metric_families) -> None:
    async with serving() as served:
        found = await asyncio.to_thread(metric_families, str(served.process.metrics_address))
        ours = {name.removeprefix("trellis_engine_") for name in found if name.startswith("trellis_engine_")}
        assert ours == {
            "calls", "rejected_calls", "spans", "queue_seconds", "sequences", "dropped_sequences", "nonfinite_rows",
            "tokens", "batch_tokens", "batch_sequences", "launch_seconds", "forward_seconds", "settle_seconds",
            "step_failures", "queued_tokens", "queued_sequences", "in_flight_tokens", "up", "draining", "info",
                "max_queued_tokens", "memory_planned_bytes", "memory_used_bytes", "capacity_tokens_per_second",
            "warmup_seconds", "warmup_timeout_seconds", "graph_captures", "graph_capture_failures", "graph_evictions",
            "graph_replays", "graph_eager_steps", "graph_out_of_memory", "graph_held", "graph_to_prewarm",
            "graph_prewarmed", "max_batch_tokens", "graph_pad_tokens", "graph_pad_sequences",
        }  # fmt: skip
        alive = {"trellis_engine_up", "trellis_engine_info"}
        settings = {"max_queued_tokens", "max_batch_tokens", "warmup_timeout_seconds"}
        for family in (found[f"trellis_engine_{name}"] for name in ours - {"warmup_seconds", *settings}):
            values = {sample.value for sample in family.samples}
            assert values == ({1.0} if family.name in alive else {0.0})
