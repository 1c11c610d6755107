"""What each output asks of a device once it is warm: no memory, and no wait but for its own event."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from graphkit.fake_cuda import FakeCuda, FakeGraphDevice
from graphkit.outputs import HIDDEN, OUTPUTS, batch_of
from torch.utils._python_dispatch import TorchDispatchMode
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.inputs import Inputs, Part
from tulip_rose.rose.late.tokens import TokensHead
from tulip_rose.rose.layers.head import Head, Made, TorchHead
from tulip_rose.rose.layers.kit import TorchKit
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.lazy import Rows
from tulip_rose.rose.pooling_words import Pooling
from tulip_rose.rose.rows.dense import Dense
from tulip_rose.rose.scoring.last_kept import LastKeptHead
from tulip_rose.rose.sparse.lexical import LexicalHead
from tulip_rose.rose.sparse.splade import Splade, SpladeHead
from tulip_rose.rose.sparse.vocabulary import VocabularyHead
from tulip_rose.sequence import OutputForm, OutputKind, VectorType

STEPS = 20
META, HOST = torch.device("meta"), torch.device("cpu")
LENGTHS = [9, 5]


@pytest.mark.parametrize("inside", [True, False], ids=["heads within graphs", "heads behind them"])
@pytest.mark.parametrize("name", OUTPUTS)
def test_after_warm_up_no_output_takes_memory_or_waits_for_anything_but_its_event(
    folder_of: Callable[[str], Path], load: Any, texts_of: Any, name: str, *, inside: bool
) -> None:
    model, forms_of = OUTPUTS[name]
    cuda = FakeCuda()
    engine = load(folder_of(model), FakeGraphDevice(cuda, heads_in_graphs=inside))
    forms = forms_of(engine.card)
    for _ in range(6):
        engine.step(batch_of(texts_of(LENGTHS), forms)).wait()
    cuda.asked.clear()
    for _ in range(STEPS):
        engine.step(batch_of(texts_of(LENGTHS), forms)).wait()
    behind = not (inside and len(forms) == 1 and forms[0].kind is OutputKind.DENSE)
    once = {"use": 1, "copy": 1 + (2 * len(forms) if behind else 1), "replay": 1, "run": int(behind)}
    once |= {"mark": 1, "synchronize": 1}
    once["beside"] = sum(reads_bounds(model, form) for form in forms) if behind else 0
    assert cuda.asked == {what: count * STEPS for what, count in once.items() if count}


def reads_bounds(model: str, form: OutputForm) -> bool:
    """Whether the head of a form wants bounds of spans on the device."""
    return form.kind is OutputKind.TOKENS or model == "scores of the last token"


@pytest.mark.parametrize("inside", [True, False], ids=["heads within graphs", "heads behind them"])
@pytest.mark.parametrize("name", OUTPUTS)
def test_outputs_in_memory_that_is_used_again_are_those_of_steps_without_graphs(
    folder_of: Callable[[str], Path], load: Any, plain: Any, texts_of: Any, name: str, *, inside: bool
) -> None:
    model, forms_of = OUTPUTS[name]
    folder = folder_of(model)
    engine, loose = load(folder, FakeGraphDevice(FakeCuda(), heads_in_graphs=inside)), plain(folder)
    forms = forms_of(engine.card)
    batches = [batch_of(texts_of(lengths), forms) for lengths in (LENGTHS, [30, 2], [1, 1], [5, 9], [17, 40]) * 2]
    flights, rows = [engine.step(batches[0])], list[Rows]()
    for batch in batches[1:]:
        flights.append(engine.step(batch))
        rows.append(flights.pop(0).wait(30))
    rows.append(flights.pop().wait(30))
    # Looked at when all slots have been another step's.
    for found, batch in zip(rows, batches, strict=True):
        is_same(found, loose.step(batch).wait(30), batch)


def is_same(found: Rows, expected: Rows, batch: Batch) -> None:
    for text in range(len(LENGTHS)):
        for want in range(len(batch.places[text])):
            one, other = found.of(text, want), expected.of(text, want)
            assert one.dtype == other.dtype
            if batch.parts[want].form.kind is OutputKind.SPARSE:
                one, other = one.view(np.int32), other.view(np.int32)
                terms = int(one[0])
                assert one[: terms + 1].tolist() == other[: terms + 1].tolist()
                one, other = one[terms + 1 :].view(np.float32), other[terms + 1 :].view(np.float32)
            # The last bit of a tanh may decide a rounding.
            np.testing.assert_allclose(one, other, atol=1 if one.dtype == np.int8 else 2e-5)


class Copies(TorchDispatchMode):
    """Which copies from the host to a device are waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        more = kwargs or {}
        source = next((each for each in args if isinstance(each, torch.Tensor)), None)
        leaves = source is not None and source.device == HOST and more.get("device") == META
        if leaves and not more.get("non_blocking"):
            self.waited.append(str(function))
        return function(*args, **more)


def never_waits(tensor: torch.Tensor) -> torch.Tensor:
    """Stands for the way by pinned memory."""
    return tensor.to(META, non_blocking=True)


def splade(most: int, *, sums: bool) -> tuple[Head, OutputForm]:
    kit = TorchKit(META, "auto")
    linear = [kit.linear(torch.empty(size, HIDDEN, device=META), None, Activation.NONE) for size in (HIDDEN, 40)]
    norm = kit.norm(torch.empty(HIDDEN, device=META), None, 1e-12)
    head = SpladeHead(VocabularyHead(linear[0], norm, linear[1], 40), Splade(sums, False), 200)
    return head, OutputForm(most, kind=OutputKind.SPARSE)


def lexical() -> tuple[Head, OutputForm]:
    weight, bias = torch.empty(1, HIDDEN, device=META), torch.empty(1, device=META)
    return LexicalHead(weight, bias, 40, torch.tensor([0])), OutputForm(3, kind=OutputKind.SPARSE)


def dense() -> Dense:
    return Dense(HIDDEN, torch.empty(HIDDEN, HIDDEN, device=META), None, torch.tanh)


FORMS = [OutputForm(HIDDEN), OutputForm(7), *(OutputForm(13, vector_type=each) for each in VectorType)]
HEADS: dict[str, tuple[Head, OutputForm]] = {
    **{f"{pooling.value} as {form}": (TorchHead((pooling,)), form) for pooling in Pooling for form in FORMS},
    "modules": (TorchHead((Pooling.MEAN,), (dense(),)), FORMS[0]),
    "terms": splade(40, sums=False),
    "sums of terms": splade(40, sums=True),
    "the heaviest terms": splade(5, sums=False),
    "terms of words": lexical(),
    "vectors of tokens": (TokensHead((dense(),)), OutputForm(HIDDEN, kind=OutputKind.TOKENS)),
    "scores of the last token": (LastKeptHead(1, (dense(),)), OutputForm(HIDDEN, normalize=False)),
}


@pytest.mark.parametrize("name", HEADS)
def test_a_head_asks_for_no_value_and_waits_for_no_copy(texts_of: Any, name: str) -> None:
    """Tensors of this device have no values: what asks for one, or for a shape that follows from one, raises."""
    head, form = HEADS[name]
    batch = batch_of(texts_of(LENGTHS), [form])
    states = torch.empty(sum(LENGTHS) + 3, HIDDEN, device=META)
    beside = Inputs.of(batch).padded(states.shape[0]).to(META, never_waits)
    with Copies() as copies:
        made = head(states, beside.parts[0], beside)
    assert copies.waited == []
    assert made.rows.device == made.finite.device == META


def reads_back(states: torch.Tensor, part: Part, inputs: Inputs) -> Made:
    return Made(states[: int(states.sum())], states.isfinite())


def waits(states: torch.Tensor, part: Part, inputs: Inputs) -> Made:
    return Made(states[part.bounds[:, 0].to(states.device)], states.isfinite())


@pytest.mark.parametrize("head", [reads_back, waits])
def test_heads_that_do_are_found(monkeypatch: pytest.MonkeyPatch, texts_of: Any, head: Head) -> None:
    monkeypatch.setitem(HEADS, "broken", (head, FORMS[0]))
    with pytest.raises((RuntimeError, NotImplementedError, AssertionError)):
        test_a_head_asks_for_no_value_and_waits_for_no_copy(texts_of, "broken")
