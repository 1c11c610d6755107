"""The table of choices: facts in, a name and reasons out."""

import ast
from dataclasses import replace

import pytest
from backendkit.released import FLASH_SOURCE, SIZES_SOURCE, node, source
from tulip_rose.rose.backends.asked import Asked
from tulip_rose.rose.backends.here import Here
from tulip_rose.rose.backends.releases import FLASH_ATTENTION_4, FLASHINFER
from tulip_rose.rose.backends.table import FA2, FA3, FLASH4, NAMES, TORCH, VARLEN, choose_backend
from tulip_rose.rose.errors import LoadError

BERT = Asked(12, 12, 64, "bfloat16", None, None, bias=False)
MINILM, QWEN = replace(BERT, size=32), Asked(16, 8, 128, "bfloat16", None, 0, bias=False)
MODERN, GEMMA = replace(BERT, left=64, right=64), Asked(3, 1, 256, "bfloat16", 256, 256, bias=False)
GRAPH = replace(BERT, in_graph=True)
QWEN_WINDOW, MPNET = replace(QWEN, left=4095), replace(BERT, bias=True)

ALL = Here((9, 0), FLASH_ATTENTION_4.tested, FLASHINFER.tested, compiles=True)
HOPPER, BLACKWELL, BLACKWELL_PC = ALL, replace(ALL, capability=(10, 0)), replace(ALL, capability=(12, 0))
AMPERE, TURING = replace(ALL, capability=(8, 0)), replace(ALL, capability=(7, 5))
NO_FLASH4 = replace(HOPPER, flash_attention_4=None)
BARE = replace(NO_FLASH4, flashinfer=None)


@pytest.mark.parametrize(
    ("asked", "here", "expected"),
    [
        (BERT, HOPPER, FLASH4),
        (MINILM, HOPPER, FLASH4),
        (QWEN, HOPPER, FLASH4),
        (MODERN, HOPPER, FLASH4),
        (GEMMA, HOPPER, FLASH4),
        (GEMMA, BLACKWELL, FLASH4),
        (replace(BERT, size=192), BLACKWELL, VARLEN),
        (replace(BERT, size=192), HOPPER, FLASH4),
        (BERT, replace(HOPPER, capability=(11, 0)), FLASH4),
        (BERT, NO_FLASH4, FA3),
        (MINILM, NO_FLASH4, FA3),
        (QWEN_WINDOW, NO_FLASH4, FA3),
        (MODERN, NO_FLASH4, VARLEN),
        (GEMMA, NO_FLASH4, VARLEN),
        (BERT, replace(NO_FLASH4, flashinfer="0.7.0.post1"), VARLEN),
        (BERT, replace(NO_FLASH4, compiles=False), VARLEN),
        (BERT, BARE, VARLEN),
        (QWEN, AMPERE, VARLEN),
        (BERT, BLACKWELL_PC, VARLEN),
        (replace(BERT, size=20), AMPERE, FA2),
        (replace(BERT, size=20), replace(BARE, capability=(8, 0)), TORCH),
        (BERT, TURING, TORCH),
        (MPNET, HOPPER, TORCH),
        (GRAPH, HOPPER, FLASH4),
        (GRAPH, NO_FLASH4, FA3),
        (GRAPH, AMPERE, VARLEN),
        (replace(GRAPH, size=20), AMPERE, FA2),
        (replace(BERT, dtype="float32"), HOPPER, TORCH),
        (replace(BERT, size=512), HOPPER, TORCH),
    ],
    ids=str,
)
def test_auto_takes_the_first_that_can(asked: Asked, here: Here, expected: str) -> None:
    choice = choose_backend("auto", asked, here)
    assert choice.name == expected
    assert choice.reason
    assert len(choice.passed_over) == NAMES.index(expected)


@pytest.mark.parametrize("asked", [BERT, MINILM, QWEN, MODERN, GEMMA, QWEN_WINDOW, MPNET, GRAPH], ids=str)
@pytest.mark.parametrize("here", [HOPPER, BLACKWELL, AMPERE, TURING, BARE], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_an_explicit_choice_is_taken_or_refused_with_those_that_are_taken(asked: Asked, here: Here, name: str) -> None:
    taken = [each for each in NAMES if is_taken(each, asked, here)]
    if name not in taken:
        expected = ", ".join(("auto", *taken)) if taken else "nothing"
        with pytest.raises(LoadError, match=f"attentionBackend {name} cannot .*; what would work here: {expected}$"):
            choose_backend(name, asked, here)
    assert is_taken("auto", asked, here) == bool(taken)


def is_taken(name: str, asked: Asked, here: Here) -> bool:
    try:
        return name in ("auto", choose_backend(name, asked, here).name)
    except LoadError:
        return False


@pytest.mark.parametrize(
    ("name", "asked", "here", "why"),
    [
        (FLASH4, BERT, BARE, "flash-attn-4 is not installed"),
        (FLASH4, BERT, AMPERE, r"compute capability 9, 10 and 11, this GPU has compute capability 8\.0"),
        (FLASH4, replace(BERT, size=192), BLACKWELL, "at most 128 values or 256, not 192"),
        (FLASH4, replace(BERT, size=36), HOPPER, "a multiple of 8 values, not 36"),
        (FA3, MODERN, HOPPER, "windows reach to the left alone"),
        (FA3, BERT, BLACKWELL, "compute capability 9 alone"),
        (FA3, BERT, replace(ALL, flashinfer="0.6.18"), r"flashinfer-python 0\.6\.18 is older than 0\.7\.1"),
        (FA2, BERT, replace(ALL, compiles=False), "neither nvcc nor flashinfer-jit-cache"),
        (FA2, BERT, TURING, "compute capability 8 and above"),
        (TORCH, GRAPH, HOPPER, "which a graph does not know"),
        (VARLEN, MPNET, HOPPER, "adds no bias to logits"),
        (VARLEN, replace(BERT, dtype="float32"), HOPPER, "takes bfloat16, not float32"),
        (VARLEN, replace(BERT, size=264), HOPPER, "at most 256 values, not 264"),
    ],
    ids=str,
)
def test_a_refusal_says_what_stands_against_it(name: str, asked: Asked, here: Here, why: str) -> None:
    with pytest.raises(LoadError, match=rf"attentionBackend {name} cannot serve \d.*{why}.*; what would work here"):
        choose_backend(name, asked, here)


def test_a_choice_says_what_was_passed_over_and_why() -> None:
    assert str(choose_backend("auto", MODERN, NO_FLASH4)) == (
        "torchVarlen: FlashAttention 2 as it comes with torch: nothing to install, nothing to plan; "
        "passed over: flashattention4 (flash-attn-4 is not installed); "
        "flashinferFa3 (its windows reach to the left alone)"
    )


@pytest.mark.parametrize(
    ("here", "name", "form"),
    [
        (HOPPER, FLASH4, "reads where sequences begin from tensors of the device, and has the longest that may come"),
        (NO_FLASH4, FA3, "is planned on the host before each step, outside of what is captured"),
        (BARE, VARLEN, "reads where sequences begin from tensors of the device"),
    ],
    ids=str,
)
def test_a_choice_for_a_graph_says_how_a_replay_learns_where_sequences_begin(here: Here, name: str, form: str) -> None:
    choice = choose_backend("auto", GRAPH, here)
    assert choice.name == name
    assert f"; it {form}" in choice.reason
    assert form not in choose_backend("auto", BERT, here).reason


def test_where_nothing_can_serve_a_layer_each_backend_says_why() -> None:
    leaning = replace(MPNET, in_graph=True)
    with pytest.raises(
        LoadError, match=rf"no attention backend can serve .*{FLASH4} \(.*\); .*{TORCH} \(it takes texts"
    ):
        choose_backend("auto", leaning, HOPPER)
    with pytest.raises(LoadError, match=f"{FA3} cannot serve .*; what would work here: nothing$"):
        choose_backend(FA3, leaning, HOPPER)


def test_a_name_that_no_backend_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(LoadError, match=f"'fa9' is not known here; known are auto, {', '.join(NAMES)}"):
        choose_backend("fa9", BERT, HOPPER)


@pytest.mark.parametrize("generation", [9, 10, 11])
def test_sizes_of_heads_are_those_that_flash_attention_4_takes(generation: int) -> None:
    check = node(source(FLASH_ATTENTION_4, FLASH_SOURCE), "_validate_head_dims")
    check.decorator_list.clear()
    names: dict[str, object] = {}
    exec(ast.unparse(check), names)
    here = replace(ALL, capability=(generation, 0))
    for size in range(1, 300):
        assert _takes(names[check.name], size, generation) == _chosen(replace(BERT, size=size), here), size


def _takes(check: object, size: int, generation: int) -> bool:
    try:
        check(size, size, generation, 8)  # type: ignore[operator]
    except AssertionError:
        return False
    return True


def _chosen(asked: Asked, here: Here) -> bool:
    return choose_backend("auto", asked, here).name == FLASH4


def test_flashinfer_has_kernels_for_the_sizes_that_heads_are_widened_to() -> None:
    text = source(FLASHINFER, SIZES_SOURCE).split("#define DISPATCH_HEAD_DIM(")[1].split("#define")[0]
    assert {size for size in (64, 128, 256) if f"case {size}:" in text} == {64, 128, 256}
    assert "case 32:" not in text
