"""FlashInfer over static buffers: planned before each step, replayed ones too, and never within what is captured."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from backendkit.stand_ins import Wrapper
from graphkit.batches import ragged_of
from torch import Tensor
from tulip_rose.rose.backends import ragged_prefill, static_wrappers
from tulip_rose.rose.backends.ragged_prefill import RaggedPrefill
from tulip_rose.rose.backends.table import FA2, FA3
from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.layers.attention import Mask, TorchAttention

CPU = torch.device("cpu")
MASKS = [Mask(), Mask(causal=True), Mask(causal=True, window=(3, 0))]
ROWS = 16


def starts_of(*ends: int) -> Tensor:
    return torch.tensor([0, *ends], dtype=torch.int32)


class Step:
    """Layers over static tensors, as a graph has them: what is written there decides, and nothing is planned within."""

    def __init__(self, attention: RaggedPrefill, rows: int, slots: int, size: int = 64) -> None:
        torch.manual_seed(5)
        self.attention = attention
        self.qkv = torch.randn(rows, 3, 4, size).bfloat16()
        self.starts = torch.zeros(slots + 1, dtype=torch.int32)
        self.ragged = Ragged(self.starts, rows, rows, seen=torch.zeros(slots, dtype=torch.int32))

    def first(self, starts: Tensor) -> list[Tensor]:
        self.attention.plan_ahead(starts)
        return self._run(starts)

    def replay(self, starts: Tensor) -> list[Tensor]:
        self.attention.plan_ahead(starts)
        Wrapper.forbidden = True
        try:
            return self._run(starts)
        finally:
            Wrapper.forbidden = False

    def _run(self, starts: Tensor) -> list[Tensor]:
        self.starts.copy_(starts)
        q, k, v = self.qkv.unbind(1)
        return [self.attention(q, k, v, self.ragged, mask, 0.3) for mask in MASKS]

    def expected(self, starts: Tensor) -> list[Tensor]:
        lengths = [length for length in starts.diff().tolist() if length]
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        assert order == list(range(len(lengths))), "the plain one takes them ascending"
        q, k, v = self.qkv.unbind(1)
        return [TorchAttention()(q, k, v, ragged_of(lengths), mask, 0.3) for mask in MASKS]


def is_close(found: list[Tensor], expected: list[Tensor]) -> bool:
    pairs = zip(found, expected, strict=True)
    return all((one.float() - other.float()).abs().max() < 3e-2 for one, other in pairs)


@pytest.fixture(autouse=True)
def allowed() -> Iterator[None]:
    """Whatever a test did, the next one may plan."""
    yield
    Wrapper.forbidden = False


@pytest.mark.parametrize("size", [32, 64])
@pytest.mark.parametrize("name", [FA3, FA2])
def test_replays_attend_to_what_was_planned_for_them(wrappers: list[Wrapper], name: str, size: int) -> None:
    step = Step(RaggedPrefill(name, CPU), ROWS, 4, size)
    first = starts_of(3, 7, ROWS, ROWS)
    assert is_close(step.first(first), step.expected(first))
    for starts in (starts_of(1, 2, 9, ROWS), starts_of(ROWS, ROWS, ROWS, ROWS), first):
        assert is_close(step.replay(starts), step.expected(starts))


def test_a_size_that_is_met_first_needs_no_planning_within_its_step(wrappers: list[Wrapper]) -> None:
    attention = RaggedPrefill(FA3, CPU)
    Step(attention, ROWS, 2).first(starts_of(5, ROWS))
    for rows, slots in ((32, 2), (ROWS, 4)):
        step = Step(attention, rows, slots)
        starts = starts_of(4, *[rows] * (slots - 1))
        assert is_close(step.replay(starts), step.expected(starts))


def test_all_layers_of_a_kind_and_size_share_a_wrapper_and_all_sizes_the_memory(wrappers: list[Wrapper]) -> None:
    attention = RaggedPrefill(FA2, CPU)
    for rows, slots in ((ROWS, 2), (32, 2), (32, 4), (ROWS, 2)):
        starts = starts_of(4, *[rows] * (slots - 1))
        Step(attention, rows, slots).first(starts)
    static = [each for each in wrappers if each.in_graph]
    assert len(static) == 3 * len(MASKS)
    assert len({each.layout.data_ptr() for each in static if each.layout is not None}) == len(MASKS)
    assert len({each.given["qo_indptr_buf"].data_ptr() for each in static}) == 2
    assert {each.given["backend"] for each in static} == {"fa2"}
    assert all(call["disable_split_kv"] for each in static for call in each.plans)


def test_wrappers_of_the_size_used_longest_ago_make_room_and_come_back_for_its_graph(
    wrappers: list[Wrapper], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(static_wrappers, "MOST_SIZES", 2)
    attention = RaggedPrefill(FA3, CPU)
    steps = [Step(attention, rows, 2) for rows in (ROWS, 32, 48)]
    for step in steps:
        step.first(starts_of(4, step.ragged.tokens))
    before = len(wrappers)
    starts = starts_of(7, ROWS)
    assert is_close(steps[0].replay(starts), steps[0].expected(starts))
    assert len(wrappers) == before + len(MASKS)
    again, first = wrappers[-1], next(each for each in wrappers if each.in_graph)
    assert again.given["qo_indptr_buf"] is first.given["qo_indptr_buf"]


def test_pinned_memory_is_written_again_only_behind_the_copy_from_it(
    wrappers: list[Wrapper], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    class Watching:
        def record(self) -> None:
            seen.append("copied")

        def synchronize(self) -> None:
            seen.append("waited")

    plan = static_wrappers.plan

    def planned(*args: Any) -> None:
        seen.append("planned")
        plan(*args)

    monkeypatch.setattr(static_wrappers, "plan", planned)
    monkeypatch.setattr(static_wrappers, "MOST_SIZES", 1)
    monkeypatch.setattr(ragged_prefill, "_fence", lambda device: Watching())
    attention = RaggedPrefill(FA3, CPU)
    step = Step(attention, ROWS, 2)
    step.first(starts_of(4, ROWS))
    step.replay(starts_of(5, ROWS))
    assert seen == ["waited", "planned", "copied"] * 2 * len(MASKS)
    seen.clear()
    Step(attention, 32, 2).replay(starts_of(5, 32))
    assert seen[: len(MASKS)] == ["waited"] * len(MASKS), "before its wrapper is dropped"


def test_a_step_that_was_not_planned_is_an_error_and_no_wrong_vector(wrappers: list[Wrapper]) -> None:
    attention = RaggedPrefill(FA3, CPU)
    step = Step(attention, ROWS, 2)
    with pytest.raises(RuntimeError, match="a step of 16 rows and 2 slots attends, and was not planned"):
        step._run(starts_of(4, ROWS))
    step.first(starts_of(4, ROWS))
    with pytest.raises(RuntimeError, match="a step of 32 rows and 2 slots attends, and was not planned"):
        Step(attention, 32, 2)._run(starts_of(4, 32))
