"""The one door where errors of others become ours. Knows the libraries' errors, and no request."""

import asyncio
from collections.abc import Callable

import grpc
from aiohttp import web

from ivy.errors import (
    ApiError,
    BadRequest,
    BodyTooLarge,
    ClientGone,
    DeadlinePassed,
    EngineFailed,
    Internal,
    NoEngine,
    Overloaded,
    UnknownRoute,
    WrongMethod,
)

RETRY_UNKNOWN_S = 1.0
"""Where nobody can tell when a retry is worth it: about the time in which a restarted engine is found."""

_Code = grpc.StatusCode


def _overloaded() -> ApiError:
    return Overloaded("the engines have no room for this request", retry_after_s=RETRY_UNKNOWN_S)


def _no_engine() -> ApiError:
    return NoEngine("no engine is ready to answer", retry_after_s=RETRY_UNKNOWN_S)


def _deadline() -> ApiError:
    return DeadlinePassed("the request was not answered in time")


BY_GRPC_CODE: dict[grpc.StatusCode, Callable[[], ApiError]] = {
    _Code.UNAVAILABLE: _no_engine,
    # An engine that shuts down cancels what is left: another one should be asked.
    _Code.CANCELLED: _no_engine,
    # The engine at this address serves another model by now.
    _Code.FAILED_PRECONDITION: _no_engine,
    _Code.RESOURCE_EXHAUSTED: _overloaded,
    _Code.DEADLINE_EXCEEDED: _deadline,
    # Ivy checks all that an engine refuses, so a refusal is a fault of ours and not of the caller.
    _Code.INVALID_ARGUMENT: EngineFailed,
    _Code.OUT_OF_RANGE: EngineFailed,
    _Code.INTERNAL: EngineFailed,
    _Code.UNKNOWN: EngineFailed,
    _Code.DATA_LOSS: EngineFailed,
    _Code.ABORTED: EngineFailed,
    _Code.NOT_FOUND: EngineFailed,
    _Code.ALREADY_EXISTS: EngineFailed,
    _Code.UNIMPLEMENTED: EngineFailed,
    _Code.PERMISSION_DENIED: EngineFailed,
    _Code.UNAUTHENTICATED: EngineFailed,
}


def mapped(error: BaseException) -> ApiError:
    """The error of ours that stands for `error`; ours pass as they are."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, grpc.RpcError):
        # OK is no error, and an answer without a code is as broken as one with an unknown code.
        return BY_GRPC_CODE.get(code_of(error), EngineFailed)()
    if isinstance(error, TimeoutError):
        return _deadline()
    if isinstance(error, asyncio.CancelledError | ConnectionError):
        return ClientGone("the caller hung up")
    if isinstance(error, web.HTTPException):
        return _of_http(error)
    if isinstance(error, web.RequestPayloadError):
        return BadRequest("the body ended early, or is not encoded as its headers say")
    return Internal()


def code_of(error: grpc.RpcError) -> grpc.StatusCode:
    """The status code of a failed call; UNKNOWN where it has none."""
    code = error.code() if hasattr(error, "code") else None
    return code if isinstance(code, grpc.StatusCode) else _Code.UNKNOWN


def _of_http(error: web.HTTPException) -> ApiError:
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = ", ".join(sorted(error.allowed_methods))
        return WrongMethod(f"{error.method} is not one of the methods of this route: {allowed}")
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        return BodyTooLarge("the body is larger than this server reads")
    if isinstance(error, web.HTTPNotFound):
        return UnknownRoute("there is no such route; /docs lists them")
    if error.status < 500:
        return BadRequest("the request is not one that HTTP knows how to read")
    return Internal()
