"""The memory planner: its sums are right, what does not fit is refused with numbers, and what it advises fits."""

import re
from dataclasses import dataclass, replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.graphs.key import Buckets
from tulip_rose.rose.plan.heads import HeadNeeds, StepSize
from tulip_rose.rose.plan.memory import (
    GRAPH_BYTES,
    MIB,
    RESERVE_BYTES,
    STEPS,
    AttentionNeeds,
    Needs,
    Shape,
    fit_memory,
    plan_memory,
)

GIB = 1024**3
QWEN = {
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
}
NEEDS = Needs(1_191_586_816, Shape.of(QWEN, "config.json"), 2, 1024, Buckets(), 64)


@pytest.mark.parametrize(
    ("config", "shape"),
    [
        (QWEN, Shape(1024, 3072, 2048, 1024)),
        ({"hidden_size": 384, "intermediate_size": 1536, "num_attention_heads": 12}, Shape(384, 1536, 384, 384)),
        ({"dim": 768, "hidden_dim": 3072, "n_heads": 12}, Shape(768, 3072, 768, 768)),
        ({"n_embd": 768, "n_inner": 3072, "n_head": 12}, Shape(768, 3072, 768, 768)),
        ({**QWEN, "head_dim": None}, Shape(1024, 3072, 1024, 512)),
    ],
)
def test_shapes_are_read_as_each_family_spells_them(config: dict[str, int], shape: Shape) -> None:
    assert Shape.of(config, "config.json") == shape


@pytest.mark.parametrize("key", ["hidden_size", "intermediate_size", "num_attention_heads"])
@pytest.mark.parametrize("value", [None, 0, "8", True])
def test_a_size_that_is_missing_or_wrong_is_named(key: str, value: object) -> None:
    with pytest.raises(LoadError, match=rf"config\.json: {key} is .*, a whole number above 0 was expected"):
        Shape.of({**QWEN, key: value}, "config.json")


def test_the_parts_add_up() -> None:
    plan = plan_memory(NEEDS)
    assert plan.device == {
        "weights": 1_191_586_816,
        # Of 16,384 rows three states in bfloat16 and two in float32; queries, keys and values twice and what was
        # attended, twice, are 12,288 values, more than the 9,216 of gate, up and their product.
        "activations": 16384 * ((3 * 1024 + 12288) * 2 + 2 * 1024 * 4),
        # Values begin at multiples of 16 bytes: 12 lie idle behind 2,049 offsets and bounds.
        "buffers": 3 * 16384 * 8 + (4 * 512 + 1) * 4 + 12 + 512 * (1024 * 4 + 1) + 16384 * 1024 * 2,
        # Those of graphs lie beside those of steps without one.
        "graphs": 64 * GRAPH_BYTES + plan.device["activations"],
        "attention": 0,
        "heads": 0,
        "reserve": RESERVE_BYTES,
    }
    assert plan.device_bytes == sum(plan.device.values())
    assert plan.plans == 0
    assert plan.ring == 3 * (3 * 16384 * 8 + (4 * 512 + 1) * 4 + 12 + 512 * (1024 * 4 + 1))


def test_a_plan_says_its_numbers() -> None:
    assert str(plan_memory(NEEDS)) == (
        "4.33 GiB of the device (weights 1.11 GiB, activations 0.59 GiB, buffers 0.03 GiB, graphs 1.59 GiB, "
        "reserve 1.00 GiB) and 0.01 GiB of pinned memory"
    )


def test_what_attention_takes_for_itself_is_part_of_the_plan_and_of_what_is_said() -> None:
    plain, more = plan_memory(NEEDS), plan_memory(replace(NEEDS, attention=AttentionNeeds(144 * MIB, 520 * MIB)))
    assert more.device == {**plain.device, "attention": 144 * MIB}
    assert more.device_bytes == plain.device_bytes + 144 * MIB
    assert more.parts == {**plain.parts, "attention": 144 * MIB, "plans": 520 * MIB}
    assert str(more) == (
        "4.47 GiB of the device (weights 1.11 GiB, activations 0.59 GiB, buffers 0.03 GiB, graphs 1.59 GiB, "
        "attention 0.14 GiB, reserve 1.00 GiB) and 0.51 GiB of pinned memory"
    )
    with pytest.raises(LoadError, match=r"attention 0\.14 GiB"):
        fit_memory(replace(NEEDS, attention=AttentionNeeds(144 * MIB)), plain.device_bytes, 512)


@dataclass(frozen=True)
class Made:
    """A head whose needs follow from the rows and the spans of a step."""

    of_a_token: int
    of_a_span: int
    held: int = 0

    def needs(self, step: StepSize) -> HeadNeeds:
        return HeadNeeds(self.of_a_token * step.tokens, self.of_a_span * step.spans, self.held)


def test_of_heads_the_largest_runs_at_a_time_and_the_results_and_weights_of_all_are_held() -> None:
    plain = plan_memory(NEEDS)
    more = plan_memory(replace(NEEDS, heads=(Made(100, 10, held=7), Made(300, 20, held=5))))
    assert more.device == {**plain.device, "heads": 300 * 16384, "weights": plain.device["weights"] + 12}
    assert (more.results, plain.results) == (STEPS * 30 * 512, 0)
    assert more.parts["results"] == more.results
    with pytest.raises(LoadError, match=r"heads 0\.00 GiB"):
        fit_memory(replace(NEEDS, heads=(Made(1, 0),)), plain.device_bytes, 512)


def test_what_fits_exactly_fits_and_one_byte_less_does_not() -> None:
    size = plan_memory(NEEDS).device_bytes
    assert fit_memory(NEEDS, size, 512) == plan_memory(NEEDS)
    with pytest.raises(
        LoadError,
        match=r"takes 4\.33 GiB of the device \(weights 1\.11 GiB.*, the device has 4\.33 GiB for it: batches of at",
    ):
        fit_memory(NEEDS, size - 1, 512)


@given(st.integers(GIB, 5 * GIB), st.integers(1, 128), st.integers(1, 32768))
def test_what_is_advised_fits_and_a_token_more_does_not(free: int, graphs: int, longest: int) -> None:
    needs = replace(NEEDS, graphs=graphs, buckets=Buckets(most_tokens=max(16384, longest)))
    assume(plan_memory(needs).device_bytes > free)
    with pytest.raises(LoadError) as refused:
        fit_memory(needs, free, longest)
    found = re.search(r"at most (\d+) tokens( and a single graph)? would fit", str(refused.value))
    if found is None:
        least = replace(needs, graphs=1, buckets=Buckets(most_tokens=longest))
        assert plan_memory(least).device_bytes > free
        assert f"not even batches of {longest} tokens" in str(refused.value)
        return
    tokens, held = int(found[1]), 1 if found[2] else graphs
    assert tokens >= longest
    sizes = [
        plan_memory(replace(needs, graphs=held, buckets=Buckets(most_tokens=most))).device_bytes
        for most in (tokens, tokens + 1)
    ]
    assert sizes[0] <= free
    assert tokens == needs.buckets.most_tokens or sizes[1] > free


@given(st.integers(1, 65536), st.integers(1, 65536))
def test_larger_batches_never_take_less(one: int, other: int) -> None:
    plans = [plan_memory(replace(NEEDS, buckets=Buckets(most_tokens=most))) for most in sorted((one, other))]
    assert plans[0].device_bytes <= plans[1].device_bytes
    assert plans[0].ring <= plans[1].ring
