"""What attention takes for itself, by what the table chooses; and the kinds of layers that a config says there are."""

from dataclasses import replace
from typing import Any

import pytest
from tulip_rose.rose.backends.asked import Asked
from tulip_rose.rose.backends.here import Here
from tulip_rose.rose.backends.needs import MOST_SIZES, attention_needs
from tulip_rose.rose.backends.releases import FLASH_ATTENTION_4, FLASHINFER
from tulip_rose.rose.backends.table import AUTO, FA2, FA3, FLASH4, VARLEN
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.plan.memory import MIB, AttentionNeeds
from tulip_rose.rose.room import _kinds

HOPPER = Here((9, 0), FLASH_ATTENTION_4.tested, FLASHINFER.tested, compiles=True)
NO_FLASH4 = replace(HOPPER, flash_attention_4=None)
QWEN = Asked(16, 8, 128, "bfloat16", None, 0, bias=False, in_graph=True)
WINDOW = replace(QWEN, left=4095)
BOTH_SIDES = replace(QWEN, left=64, right=64)
NOTHING = AttentionNeeds()
ONE = AttentionNeeds((128 + 2 * 8) * MIB, (10 + 1) * 8 * MIB)


@pytest.mark.parametrize(
    ("name", "kinds", "here", "expected"),
    [
        (FA3, [QWEN], HOPPER, ONE),
        (FA2, [QWEN], HOPPER, ONE),
        (AUTO, [QWEN], NO_FLASH4, ONE),
        (AUTO, [QWEN, BOTH_SIDES], NO_FLASH4, ONE),
        (AUTO, [QWEN, WINDOW], NO_FLASH4, AttentionNeeds((128 + 3 * 8) * MIB, (20 + 1) * 8 * MIB)),
        (AUTO, [QWEN], HOPPER, NOTHING),
        (FLASH4, [QWEN], HOPPER, NOTHING),
        (VARLEN, [QWEN], HOPPER, NOTHING),
        (FA3, [replace(QWEN, dtype="float32")], HOPPER, NOTHING),
        (AUTO, [replace(QWEN, bias=True)], HOPPER, NOTHING),
    ],
)
def test_flashinfer_alone_takes_memory_once_a_backend_and_once_a_kind_of_layer(
    name: str, kinds: list[Asked], here: Here, expected: AttentionNeeds
) -> None:
    assert attention_needs(name, kinds, here, 10) == expected


def test_no_more_sizes_have_memory_than_are_kept() -> None:
    assert attention_needs(FA3, [QWEN], HOPPER, 1000).pinned == (MOST_SIZES + 1) * 8 * MIB


CONFIG = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2}
WHOLE = Asked(4, 2, 16, "bfloat16", None, None, bias=False, in_graph=True)


@pytest.mark.parametrize(
    ("more", "windows"),
    [
        ({}, []),
        ({"sliding_window": None}, []),
        ({"sliding_window": 32, "use_sliding_window": False}, []),
        ({"sliding_window": 32, "use_sliding_window": True}, [(32, 0)]),
        ({"sliding_window": 32, "use_bidirectional_attention": True}, [(32, 32)]),
        ({"local_attention": 128}, [(128, 128)]),
    ],
)
def test_windows_are_a_kind_of_their_own(more: dict[str, Any], windows: list[tuple[int, int]]) -> None:
    found = _kinds(Config({**CONFIG, **more}, "config.json"), "bfloat16")
    assert found == (WHOLE, *(replace(WHOLE, left=left, right=right) for left, right in windows))
