"""Ways to break kernels and the layers around them, a few words at a time, each with the test that has to see it."""

from dataclasses import dataclass
from typing import Any

import torch
from paritykit.rewritten import Seen, Words
from tulip_rose.rose.kernels import activate, embedding, finish, norm, pool, sandwich, turn
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.layers.places import Places
from tulip_rose.rose.pooling_words import Pooling
from tulip_rose.sequence import OutputForm, VectorType

ON = {"device": torch.device("cpu"), "dtype": torch.float32}
LAYER = Seen(
    "test_norms.test_a_layer_norm_of_a_sum_is_that_of_the_definition",
    {**ON, "rows": 3, "size": 5, "plus": True, "bias": True},
)
ROOT = Seen(
    "test_norms.test_a_root_norm_with_weights_of_one_and_a_little_keeps_the_little",
    {**ON, "rows": 3, "size": 5, "plus": True},
)
FIRST = Seen(
    "test_norms.test_first_states_are_the_norm_of_word_position_and_type",
    {**ON, "place": Places(30, 2), "typed": True, "size": 40},
)
STRANGER = Seen(
    "test_norms.test_an_id_in_no_table_makes_its_own_row_no_number_and_no_other",
    {"device": ON["device"], "wrong": -1},
)
GEMMA = Seen("test_norms.test_gemmas_block_is_that_of_its_parts", {**ON, "size": 24})
TURNED = Seen(
    "test_turn.test_pairs_are_turned_by_the_table_of_their_base_and_values_stay",
    {**ON, "queries": 6, "keys": 2, "size": 24, "base": 100.0, "normed": True},
)
NUMBERS = Seen("test_rows.test_int8_and_bits_are_those_of_the_definition", {"device": ON["device"]})
BOUNDED = Seen("test_rows.test_what_modules_bound_is_told_to_be_broken_all_the_same", {"device": ON["device"]})
MODEL = Seen(
    "test_models.test_a_model_of_these_layers_gives_the_vectors_of_torchs_and_pads_reach_none",
    {"device": ON["device"], "family": "bert", "precision": "float32"},
)


def gate(activation: Activation) -> Seen:
    return Seen(
        "test_activate.test_a_gate_lets_through_what_lies_beside_it", {**ON, "activation": activation, "width": 24}
    )


def far(activation: Activation) -> Seen:
    return Seen(
        "test_activate.test_far_values_fade_or_stay_and_what_is_no_number_stays_so",
        {"device": ON["device"], "activation": activation},
    )


def span(pooling: Pooling, **form: Any) -> Seen:
    given = {**ON, "pooling": pooling, "form": OutputForm(**{"dimensions": 42, **form})}
    return Seen("test_rows.test_each_span_becomes_the_row_that_torch_makes_of_it", given)


def broken_row(pooling: Pooling) -> Seen:
    given = {"device": ON["device"], "form": OutputForm(13), "wrong": float("nan"), "pooling": pooling}
    return Seen("test_rows.test_a_row_with_one_value_that_is_not_finite_is_zeros_and_told_though_it_is_cut", given)


@dataclass(frozen=True)
class Break:
    """Words exchanged in the file of a kernel, and the test that has to see it."""

    module: Any
    kernel: str
    words: Words
    seen: Seen


def norms(seen: Seen, *words: tuple[str, str]) -> Break:
    return Break(norm, "_norm", words, seen)


def first(seen: Seen, *words: tuple[str, str]) -> Break:
    return Break(embedding, "_embed", words, seen)


def between(*words: tuple[str, str]) -> Break:
    return Break(sandwich, "_between", words, GEMMA)


def turns(*words: tuple[str, str]) -> Break:
    return Break(turn, "_turn", words, TURNED)


def acts(seen: Seen, *words: tuple[str, str]) -> Break:
    return Break(activate, "_activate", words, seen)


def pools(seen: Seen, *words: tuple[str, str]) -> Break:
    return Break(pool, "_pool", words, seen)


def ends(seen: Seen, *words: tuple[str, str]) -> Break:
    return Break(finish, "_finish", words, seen)


MEAN, MAX, WEIGHTED = Pooling.MEAN, Pooling.MAX, Pooling.WEIGHTED_MEAN
INT8, BITS = VectorType.INT8, VectorType.BINARY
ADD_ROW = """    value = normed(value, before, None, at, inside, before_epsilon, size, True)
    value += tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
"""
ROW_FIRST = """    value += tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
    value = normed(value, before, None, at, inside, before_epsilon, size, True)
"""
BREAKS: dict[str, Break] = {
    "a norm without epsilon": norms(ROOT, ("/ size + epsilon)", "/ size)")),
    "a layer norm without epsilon": norms(LAYER, ("/ size + epsilon)", "/ size)")),
    "a norm that keeps the mean": norms(LAYER, ("x - tl.sum(x, axis=0) / size", "x")),
    "a norm that takes the mean of one more": norms(
        LAYER, ("tl.sum(x, axis=0) / size,", "tl.sum(x, axis=0) / (size + 1),")
    ),
    "a norm without weight": norms(
        LAYER, ("y *= tl.load(weight + at, mask=inside, other=0.0).to(tl.float32)", "y *= 1.0")
    ),
    "a norm without bias": norms(LAYER, ("if bias is not None:", "if bias is None:")),
    "a norm of one term of a sum": norms(LAYER, ("value += tl.load(plus", "value += 0.0 * tl.load(plus")),
    "a norm that leaves out the last value": norms(LAYER, ("inside = at < size", "inside = at < size - 1")),
    "no types": first(FIRST, ("if types is not None:", "if False:")),
    "types in the rows of another table": first(FIRST, (" * apart", "")),
    "places of the first text for all": first(FIRST, ("tl.load(rows + token)", "tl.load(rows + 0 * token)")),
    "no places": first(FIRST, ("x += tl.load(places", "x += 0.0 * tl.load(places")),
    "first states without the last value": first(FIRST, ("inside = at < size", "inside = at < size - 1")),
    "an unknown token of zeros": first(STRANGER, ('float("nan")', "0.0")),
    "the norm after the add": between((ADD_ROW, ROW_FIRST)),
    "nothing added": between(("value += tl.load(x + row", "value += 0.0 * tl.load(x + row")),
    "the next norm by the weight of the one before": between(
        ("normed(value, after, None", "normed(value, before, None")
    ),
    "no epsilon of the first norm": between(("before_epsilon, size, True)", "0.0, size, True)")),
    "pairs of neighbours": turns(("+ pair[None, :]", "+ 2 * pair[None, :]"), ("low + half", "low + 1")),
    "turned the other way": turns(
        ("first * c - second * s", "first * c + second * s"), ("second * c + first * s", "second * c - first * s")
    ),
    "half of them turned": turns(("second * c + first * s", "second")),
    "sine for cosine": turns(
        ("tl.load(cos", "tl.load(x_sin"), ("tl.load(sin", "tl.load(cos"), ("tl.load(x_sin", "tl.load(sin")
    ),
    "places of every second token": turns(("angle = token * half", "angle = (token - token % 2) * half")),
    "keys not turned": turns(("(head < heads)", "(head < heads - 1)")),
    "the last pair not turned": turns(("pair < half", "pair < half - 1")),
    "heads normed by half of their squares": turns(("/ (2 * half)", "/ half")),
    "heads normed without epsilon": turns(("tl.rsqrt(square + epsilon)", "tl.rsqrt(square)")),
    "the second half by the weights of the first": turns(("weight + at + half", "weight + at")),
    "GELU by tanh": acts(
        gate(Activation.GELU),
        ("0.5 * x * (1.0 + tl.erf(x * _ROOT_HALF))", "x / (1.0 + tl.exp((x + 0.044715 * x * x * x) * _TANH))"),
    ),
    "GELU by tanh without its cube": acts(gate(Activation.GELU_TANH), ("0.044715 * x * x * x", "0.0")),
    "SILU of twice": acts(gate(Activation.SILU), ("1.0 + tl.exp(-x)", "1.0 + tl.exp(-2.0 * x)")),
    "RELU that makes a zero of no number": acts(
        far(Activation.RELU), ("tl.where(x < 0.0, 0.0, x)", "tl.where(x > 0.0, x, 0.0)")
    ),
    "gate and up exchanged": acts(
        gate(Activation.SILU),
        ("tl.load(source, ", "tl.load(source + other, "),
        ("tl.load(source + width", "tl.load(source"),
        ("source + other", "source + (width if gated else 0)"),
    ),
    "no gate": acts(
        gate(Activation.SILU), ("y *= tl.load(source + width, mask=inside, other=0.0).to(tl.float32)", "y *= 1.0")
    ),
    "an activation without the last value": acts(
        gate(Activation.SILU), ("inside = at < width", "inside = at < width - 1")
    ),
    "a span without its last token": pools(span(MEAN), ("token < end", "token < end - 1")),
    "a span with the next token": pools(span(MEAN), ("(token < end)", "(token <= end)")),
    "the mean of one more": pools(
        span(MEAN, normalize=False), ("tl.sum(total, axis=0) / length", "tl.sum(total, axis=0) / (length + 1.0)")
    ),
    "no root of the length": pools(span(Pooling.MEAN_SQRT_LENGTH, normalize=False), ("/ tl.sqrt(length)", "/ length")),
    "weights from zero": pools(span(WEIGHTED), (".to(tl.float32) + 1.0", ".to(tl.float32)")),
    "weights by the span": pools(span(WEIGHTED), ("tl.load(positions + token", "tl.load(positions + token - begin")),
    "no maximum below zero": pools(span(MAX), ('float("-inf") if kind', "0.0 if kind")),
    "a maximum over what is no number": pools(broken_row(MAX), ("tl.where(x != x, 1, broken)", "broken")),
    "a span without its last value": pools(span(MEAN), ("there = column < size", "there = column < size - 1")),
    "the first token for the last": ends(
        span(Pooling.LAST_TOKEN),
        ("tl.load(bounds + 2 * span + 1).to(tl.int64) - 1", "tl.load(bounds + 2 * span).to(tl.int64)"),
    ),
    "the last token for the first": ends(
        span(Pooling.CLS),
        ("row = tl.load(bounds + 2 * span).to(tl.int64)", "row = tl.load(bounds + 2 * span + 1).to(tl.int64) - 1"),
    ),
    "rows of the slot before": ends(
        span(MEAN), ("source = rows + row * width", "source = rows + (row - row % 2) * width")
    ),
    "not normalised": ends(span(MEAN), ("x = x / tl.maximum(tl.sqrt(tl.sum(x * x, axis=0)), _LEAST)", "x = x * 1.0")),
    "normalised where nobody asked": ends(span(MEAN, normalize=False), ("        if unit:", "        if True:")),
    "normalised before it is cut": ends(
        span(MEAN, dimensions=13), ("tl.where(inside & (broken == 0), x, 0.0)", "tl.where(broken == 0, x, 0.0)")
    ),
    "int8 that is cut off": ends(NUMBERS, ("y = (y + _WHOLE) - _WHOLE", "y = y * 1.0")),
    "int8 without tanh": ends(
        NUMBERS, ("127.0 * (1.0 - fading) / (1.0 + fading)", "127.0 * tl.minimum(tl.abs(x), 1.0)")
    ),
    "int8 without a sign": ends(NUMBERS, ("tl.where(x < 0.0, -y, y)", "y")),
    "bits from the other end": ends(NUMBERS, ("<< bit[None, :]", "<< (7 - bit[None, :])")),
    "no bit for zero": ends(NUMBERS, ("x >= 0.0", "x > 0.0")),
    "bits beyond the cut": ends(
        span(MEAN, dimensions=17, vector_type=BITS), ("(x >= 0.0) & (column < kept)", "x >= 0.0")
    ),
    "a broken row that is not told": ends(broken_row(MEAN), ("broken == 0)\n    inside", "broken >= 0)\n    inside")),
    "a broken row that is not emptied": ends(
        broken_row(MEAN), ("tl.where(inside & (broken == 0), x, 0.0)", "tl.where(inside, x, 0.0)")
    ),
    "a row that was broken before modules": ends(
        BOUNDED, ("broken = tl.where(tl.load(good + span) != 0, broken, 1)", "broken = broken * 1")
    ),
}
"""Each with its test. None writes or reads beyond a tensor: the interpreter would do so as well."""

LAYERS: dict[str, tuple[str, Words]] = {
    "norms exchanged": (
        "kernels.post_norm:TritonPostNorm.__call__",
        (
            ("x = own.attention_norm(own.out", "x = own.output_norm(own.out"),
            ("return own.output_norm", "return own.attention_norm"),
        ),
    ),
    "nothing added to what was attended": (
        "kernels.post_norm:TritonPostNorm.__call__",
        (("own.attention_norm(own.out(attended), x)", "own.attention_norm(own.out(attended))"),),
    ),
    "keys for values": (
        "kernels.post_norm:TritonPostNorm.__call__",
        (("own.attention(q, k, v,", "own.attention(q, k, k,"),),
    ),
    "a product without its bias": (
        "kernels.linear:TritonLinear.__call__",
        (("functional.linear(x, self._weight, self._bias)", "functional.linear(x, self._weight)"),),
    ),
}
"""Of layers around kernels, which the comparison of whole models sees."""
