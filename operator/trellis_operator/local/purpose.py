"""Asks an engine on this machine what its model is for. Never knows who started it, and asks for no vector."""

import grpc
import grpc.aio
from trellis_wire.v1 import embedding_pb2, embedding_pb2_grpc

from trellis_operator.errors import LocalError
from trellis_operator.local.greeting import Purpose

_TIMEOUT_S = 5.0


async def purpose_of(address: str) -> Purpose:
    """Ask the engine at HOST:PORT.

    Raises:
        LocalError: it did not answer.
    """
    async with grpc.aio.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        try:
            stub = embedding_pb2_grpc.EmbeddingStub(channel)  # type: ignore[no-untyped-call]
            info = await stub.Info(embedding_pb2.InfoRequest(), timeout=_TIMEOUT_S)
        except grpc.aio.AioRpcError as error:
            raise LocalError(f"the engine did not say what its model is for: {error.code().name}") from error
    return purpose(info)


def purpose(info: embedding_pb2.InfoResponse) -> Purpose:
    """What is to be asked of such a model. Of several outputs the dense one; of scores, labels where there are many."""
    if info.task == "score":
        return Purpose.RANK if len(info.labels) == 1 else Purpose.LABEL
    if not info.outputs or "dense" in info.outputs:
        return Purpose.EMBED
    return Purpose.SPARSE if "sparse" in info.outputs else Purpose.TOKENS
