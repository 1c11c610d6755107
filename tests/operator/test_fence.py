"""The fence: nothing is written after its deadline."""

import pytest
from trellis_operator.cluster.fence import Fence, FencedError, now_s


def test_a_new_fence_is_closed() -> None:
    with pytest.raises(FencedError):
        Fence().check()


def test_a_fence_is_open_until_its_deadline_and_not_after() -> None:
    fence = Fence()
    fence.open_until(now_s() + 60)
    fence.check()
    fence.open_until(now_s() - 0.001)
    with pytest.raises(FencedError):
        fence.check()


def test_a_single_operator_is_never_fenced_off() -> None:
    Fence.always_open().check()
