"""Errors without HTTP: the tree of ours, and the one door where errors of others become ours."""

import asyncio

import grpc
import msgspec
import pytest
from aiohttp import web
from ivy import door
from ivy.errors import ApiError, ClientGone, EngineFailed, Internal, leaves


def test_every_grpc_code_that_can_fail_has_its_error():
    assert set(door.BY_GRPC_CODE) == set(grpc.StatusCode) - {grpc.StatusCode.OK}
    made = [make() for make in door.BY_GRPC_CODE.values()]
    assert all(isinstance(error, ApiError) for error in made)


def _http_errors(root: type = web.HTTPException) -> list[type]:
    return [found for child in root.__subclasses__() for found in (child, *_http_errors(child))]


@pytest.mark.parametrize("kind", [kind for kind in _http_errors() if kind.status_code >= 400])
def test_every_error_of_the_http_library_has_a_status_of_the_table(kind):
    more = {"method": "GET", "allowed_methods": ["POST"]} if kind is web.HTTPMethodNotAllowed else {}
    more = {"max_size": 1, "actual_size": 2} if kind is web.HTTPRequestEntityTooLarge else more
    more = {"link": None} if kind is web.HTTPUnavailableForLegalReasons else more
    error = door.mapped(kind(**more))
    assert error.status in {400, 404, 405, 413, 500}
    assert (error.status >= 500) == (kind.status_code >= 500)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TimeoutError(), "DeadlinePassed"),
        (asyncio.CancelledError(), "ClientGone"),
        (ConnectionResetError(), "ClientGone"),
        (web.RequestPayloadError("x"), "BadRequest"),
        (msgspec.MsgspecError("a text of somebody"), "Internal"),
        (KeyError("a text of somebody"), "Internal"),
        (MemoryError(), "Internal"),
    ],
)
def test_errors_of_others_become_ours_without_their_words(error, kind):
    mapped = door.mapped(error)
    assert type(mapped).__name__ == kind
    assert "somebody" not in str(mapped)


def test_every_error_of_the_tree_has_a_status_a_type_and_only_retriable_ones_of_the_clients():
    for kind in leaves():
        assert kind.type
        assert 400 <= kind.status < 600
        assert kind.status not in (422, 424)
    assert {kind.status for kind in leaves()} - {ClientGone.status} == {
        400,
        401,
        404,
        405,
        408,
        413,
        429,
        500,
        503,
        504,
    }
    assert issubclass(EngineFailed, Internal)
