"""Calls to an API server of a few lines: what passes a closed fence, and what an answer means for reads and writes."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web
from kubernetes.aio.client import ApiClient
from trellis_operator.cluster.api import Api
from trellis_operator.cluster.errors import AwayError, RefusedError
from trellis_operator.cluster.fence import Fence, FencedError, now_s
from trellis_operator.cluster.metrics import Metrics
from visitkit.client import client_of

PATH = "/api/v1/namespaces/search/services/m"
WRITES: dict[str, tuple[str, Callable[[Api], Awaitable[Any]]]] = {
    "apply": ("PATCH", lambda api: api.apply(PATH, {})),
    "merge": ("PATCH", lambda api: api.merge(PATH, {})),
    "create": ("POST", lambda api: api.create(PATH, {})),
    "replace": ("PUT", lambda api: api.replace(PATH, {})),
    "delete": ("DELETE", lambda api: api.delete(PATH, "uid-1")),
}
FULL = "Internal error occurred: failed to allocate a serviceIP: range is full"


@dataclass
class Server:
    """Writes down what it is asked, and answers all of it alike."""

    code: int = 200
    body: dict[str, Any] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    before_answer: Callable[[], None] = lambda: None

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.method)
        self.before_answer()
        return web.json_response(self.body, status=self.code)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
async def client(server: Server, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ApiClient]:
    monkeypatch.setattr("trellis_operator.cluster.api._FIRST_PAUSE_S", 0.001)
    async with client_of(server.answer) as client:
        yield client


@pytest.mark.parametrize("write", WRITES)
async def test_no_write_of_any_kind_is_sent_through_a_closed_fence(
    server: Server, client: ApiClient, write: str
) -> None:
    method, call = WRITES[write]
    fence = Fence()
    fence.open_until(now_s() + 60)
    api = Api(client, fence, Metrics())
    await call(api)
    assert server.asked == [method]
    fence.open_until(0)
    with pytest.raises(FencedError, match="no longer the leader"):
        await call(api)
    assert server.asked == [method]


@pytest.mark.parametrize("write", WRITES)
async def test_a_write_that_is_tried_again_finds_the_fence_that_has_closed_meanwhile(
    server: Server, client: ApiClient, write: str
) -> None:
    method, call = WRITES[write]
    fence = Fence()
    fence.open_until(now_s() + 60)
    server.code, server.before_answer = 503, lambda: fence.open_until(0)
    with pytest.raises(FencedError):
        await call(Api(client, fence, Metrics()))
    assert server.asked == [method]


async def test_who_may_not_write_may_read(server: Server, client: ApiClient) -> None:
    api = Api(client, Fence(), Metrics())
    server.body = {"kind": "any"}
    assert await api.get(PATH) == server.body
    assert await api.list(PATH) == server.body
    assert [each async for each in api.watch(PATH, 10)] == [server.body]
    assert server.asked == ["GET"] * 3


@pytest.mark.parametrize("write", WRITES)
async def test_a_write_that_is_answered_with_500_each_time_is_refused_in_its_words(
    server: Server, client: ApiClient, write: str
) -> None:
    method, call = WRITES[write]
    server.code, server.body = 500, {"reason": "InternalError", "message": FULL}
    with pytest.raises(RefusedError) as refused:
        await call(Api(client, Fence.always_open(), Metrics()))
    assert (refused.value.code, refused.value.message) == (500, FULL)
    assert server.asked == [method] * 4


async def test_a_write_that_is_answered_with_500_once_among_others_is_of_a_server_that_is_away(
    server: Server, client: ApiClient
) -> None:
    codes = iter((503, 503, 503, 500))
    server.body = {"reason": "InternalError", "message": FULL}

    def turn() -> None:
        server.code = next(codes)

    server.before_answer = turn
    with pytest.raises(AwayError, match="range is full"):
        await Api(client, Fence.always_open(), Metrics()).create(PATH, {})
    assert server.asked == ["POST"] * 4


@pytest.mark.parametrize("code", [404, 409])
async def test_a_deletion_that_a_webhook_denies_is_refused_with_whatever_code(
    server: Server, client: ApiClient, code: int
) -> None:
    api = Api(client, Fence.always_open(), Metrics())
    server.code, server.body = code, {"message": "it is gone, or another one"}
    await api.delete(PATH, "uid-1")
    server.body = {"message": 'admission webhook "w" denied the request: no'}
    with pytest.raises(RefusedError, match="denied the request"):
        await api.delete(PATH, "uid-1")


async def test_a_read_that_is_answered_with_500_is_of_a_server_that_is_away(server: Server, client: ApiClient) -> None:
    server.code, server.body = 500, {"reason": "InternalError", "message": FULL}
    api = Api(client, Fence.always_open(), Metrics())
    for read in (api.get, api.list):
        with pytest.raises(AwayError, match="range is full"):
            await read(PATH)


async def test_a_write_that_is_taken_the_second_time_is_not_refused(server: Server, client: ApiClient) -> None:
    server.code, server.body = 500, {"reason": "InternalError", "message": "etcdserver: leader changed"}

    def recover() -> None:
        server.code = 500 if len(server.asked) < 2 else 200

    server.before_answer = recover
    assert await Api(client, Fence.always_open(), Metrics()).apply(PATH, {}) == server.body
    assert len(server.asked) == 2
