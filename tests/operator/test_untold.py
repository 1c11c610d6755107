"""Visits to a model whose status is not taken: what an outcome means, and what an event tells instead."""

import pytest
from trellis_operator.cluster.visit import CHANGED, CONVERGED, REFUSED, Visitor
from visitkit.server import KEY, Server


@pytest.mark.parametrize("code", [500, 409, 422])
async def test_a_status_that_is_refused_is_told_as_such_and_soon_written_again(
    server: Server, visitor: Visitor, code: int
) -> None:
    server.status_refusal = code
    for _ in range(2):
        assert await visitor.visit(KEY) == REFUSED
        assert visitor.next_try_s(KEY) == 15.0
    assert "status" not in server.model
    server.status_refusal = None
    assert await visitor.visit(KEY) == CHANGED
    assert server.degraded()[1] == "AsAskedFor"
    assert await visitor.visit(KEY) == CONVERGED
    assert visitor.next_try_s(KEY) is None


async def test_a_status_that_is_refused_is_told_by_an_event_once_for_each_reason(
    server: Server, visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_new = 'EmbeddingModel.trellis.dev "m" is invalid: status.url: Too long'
    for code, words in [(500, 'failed calling webhook "w": EOF'), (422, too_new)] * 2:
        server.status_refusal, server.status_words = code, words
        assert await visitor.visit(KEY) == REFUSED
    first, second = server.untold()
    assert 'the status is old, or absent, since it is not taken: failed calling webhook "w": EOF' in first
    assert too_new in second
    assert "What to do: install the CRD and the roles of the operator's version" in second
    [kind] = {each["type"] for each in server.events if each["reason"] == "StatusRefused"}
    assert kind == "Warning"
    monkeypatch.setattr("trellis_operator.cluster.visit._TOLD_AGAIN_S", 0.0)
    await visitor.visit(KEY)
    assert len(server.untold()) == 3


async def test_an_event_about_a_status_that_is_not_taken_either_is_posted_again(
    server: Server, visitor: Visitor
) -> None:
    server.status_refusal = 422
    server.refused["events"] = (403, 'User "trellis" cannot create resource "events"')
    await visitor.visit(KEY)
    assert server.untold() == []
    server.refused = {}
    await visitor.visit(KEY)
    await visitor.visit(KEY)
    assert len(server.untold()) == 1


@pytest.mark.parametrize("code", [404, 409])
async def test_no_event_tells_of_a_status_that_comes_too_late(server: Server, visitor: Visitor, code: int) -> None:
    server.status_refusal, server.status_words = code, "the object has been modified"
    await visitor.visit(KEY)
    await visitor.visit(KEY)
    assert server.untold() == []
    assert [each["reason"] for each in server.events] == ["Applied"]
