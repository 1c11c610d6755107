"""Every error has one status code, and what failed inside is not told to callers."""

from collections.abc import Iterator

import grpc
import pytest
from tulip_rose.rose.errors import EngineDeadError, RoseError, StepError, TooLargeError
from tulip_rose.tulip.errors import CallError, QueueFull
from tulip_rose.tulip.status import CODES, STATUS_OF, status_of


def leaves(kind: type[Exception]) -> Iterator[type[Exception]]:
    below = kind.__subclasses__()
    yield from [kind] if not below else [leaf for each in below for leaf in leaves(each)]


def test_every_refusal_of_a_call_has_its_own_status() -> None:
    assert set(STATUS_OF) == set(leaves(CallError))
    assert len(set(STATUS_OF.values())) == len(STATUS_OF)


def test_a_refusal_tells_the_caller_what_it_is() -> None:
    assert status_of(QueueFull(5, 10, 12)) == (
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        "5 tokens do not fit: 10 of at most 12 tokens wait",
    )


@pytest.mark.parametrize("kind", [RoseError, StepError, TooLargeError, EngineDeadError, ZeroDivisionError])
def test_what_failed_inside_is_internal_and_says_nothing_of_the_inside(kind: type[Exception]) -> None:
    code, text = status_of(kind("tensor of shape [3, 384] at 0x1234"))
    assert code is grpc.StatusCode.INTERNAL
    assert "tensor" not in text


def test_a_text_without_room_is_told_from_a_failure() -> None:
    code, text = status_of(TooLargeError("1 sequences of 8192 tokens: no room in memory"))
    assert code is grpc.StatusCode.INTERNAL
    assert "has no room on the engine's device" in text


def test_every_status_that_a_call_can_end_with_is_counted() -> None:
    assert {code.name for code in STATUS_OF.values()} | {"OK", "INTERNAL"} == set(CODES)
