"""Where the time of a step goes: its layers by events on the stream, and what the host does around it.

Layers are timed in a step without a graph, since a graph is one piece: the kit that builds a model is wrapped, so that
each call of a layer lies between two marks. A short step shows the host there, which launches slower than a GPU works;
what a graph saves is the difference between both tables.
"""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import ismethod
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import torch
from tulip_rose.rose import engine as engine_module
from tulip_rose.rose.device import Device
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.graphs.device import GraphDevice
from tulip_rose.rose.graphs.open import open_device
from tulip_rose.rose.options import EngineOptions

from bench.gpu.contenders import Rose
from bench.gpu.models import Ids
from bench.gpu.scale import GPU

LAYERS = ("linear", "gated", "norm", "rms_norm", "turner", "embedding", "head", "post_norm", "sandwich")
_REPEATS = 9
_WARM = 3
REST, WHOLE = "rest", "whole"


@dataclass(frozen=True)
class Span:
    """Something that was done, between two marks, and what was done within it."""

    what: str
    began: Any
    ended: Any
    within: tuple["Span", ...]


class Tape:
    """Marks of one step: events of a GPU's stream, else times."""

    def __init__(self, device: str) -> None:
        self.spans: list[Span] = []
        self._device, self._level = device, self.spans

    def mark(self) -> Any:
        """A place in the stream that is used now."""
        if self._device != GPU:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def ms(self, began: Any, ended: Any) -> float:
        """Between two marks; waits for the second one."""
        if self._device != GPU:
            return 1000 * float(ended - began)
        ended.synchronize()
        return float(began.elapsed_time(ended))

    @contextmanager
    def span(self, what: str) -> Iterator[None]:
        """What is done meanwhile."""
        outer, inner = self._level, list[Span]()
        self._level = inner
        began = self.mark()
        try:
            yield
        finally:
            self._level = outer
        outer.append(Span(what, began, self.mark(), tuple(inner)))

    def take(self) -> dict[str, float]:
        """Milliseconds by what was done, what lies within counted for itself, and of the whole step; then forgotten."""
        spans, found = tuple(self.spans), defaultdict[str, float](float)
        self.spans.clear()
        if not spans:
            return {}
        whole = self.ms(spans[0].began, spans[-1].ended)
        self._add(spans, found)
        return {**found, REST: whole - sum(found.values()), WHOLE: whole}

    def _add(self, spans: tuple[Span, ...], found: dict[str, float]) -> None:
        for span in spans:
            within = sum(self.ms(each.began, each.ended) for each in span.within)
            found[span.what] += self.ms(span.began, span.ended) - within
            self._add(span.within, found)


class Timed:
    """A layer whose calls, and those of its methods, are spans; in all else it is the layer."""

    def __init__(self, what: str, layer: Any, tape: Tape) -> None:
        self._what, self._layer, self._tape = what, layer, tape

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """The layer's own, timed."""
        with self._tape.span(self._what):
            return self._layer(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._layer, name)
        if not ismethod(found):
            return found

        def timed(*args: Any, **keywords: Any) -> Any:
            with self._tape.span(self._what):
                return found(*args, **keywords)

        return timed

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # A kit tells by types which layers it can join into one.
        return type(self._layer)


class TimedKit:
    """A kit that makes such layers."""

    def __init__(self, kit: Any, tape: Tape) -> None:
        self._kit, self._tape = kit, tape
        self.attention = Timed("attention", kit.attention, tape)

    def __getattr__(self, name: str) -> Any:
        made = getattr(self._kit, name)
        if name not in LAYERS:
            return made
        return lambda *args, **keywords: Timed(name, made(*args, **keywords), self._tape)


def layers(folder: Path, options: EngineOptions, batches: Sequence[list[Ids]]) -> list[dict[str, float]]:
    """Milliseconds by kind of layer of a step of each batch, without a graph; medians, after some to warm up."""
    tape = Tape(options.device)

    def open_timed(*args: Any) -> Device:
        device: Any = open_device(*args)
        make = device.kit
        device.kit = lambda dtype, attention: TimedKit(make(dtype, attention), tape)
        timed: Device = device
        return timed

    with patch.object(engine_module, "open_device", open_timed):
        engine = Engine.load(folder, options)
    try:
        return [_median(Rose("", engine, graphs=False), texts, tape) for texts in batches]
    finally:
        engine.close()


def _median(rose: Rose, texts: list[Ids], tape: Tape) -> dict[str, float]:
    found = [_step(rose, texts, tape) for _ in range(_WARM + _REPEATS)][_WARM:]
    return {name: median(each[name] for each in found) for name in found[0]}


def _step(rose: Rose, texts: list[Ids], tape: Tape) -> dict[str, float]:
    tape.take()
    rose.embed(texts)
    return tape.take()


@dataclass(frozen=True)
class HostTimes:
    """Of a step, in milliseconds; medians.

    Attributes:
        name: of the contender.
        tokens: of the batch.
        sequences: of the batch.
        pack: texts to a batch on the host.
        launch: a batch to all that is put on the stream, planning of attention included.
        device: between the first and the last of it, on the stream; None where that cannot be asked.
        whole: texts to vectors on the host.
    """

    name: str
    tokens: int
    sequences: int
    pack: float
    launch: float
    device: float | None
    whole: float


def host_times(rose: Rose, texts: list[Ids], device: str) -> HostTimes:
    """Of one batch, again and again."""
    found = [_host_times(rose, texts, device) for _ in range(_WARM + _REPEATS)][_WARM:]
    pack, launch, whole, on_device = zip(*found, strict=True)
    asked = [each for each in on_device if each is not None]
    tokens = sum(text.size for text in texts)
    return HostTimes(
        rose.name, tokens, len(texts), median(pack), median(launch), median(asked) if asked else None, median(whole)
    )


def _host_times(rose: Rose, texts: list[Ids], device: str) -> tuple[float, float, float, float | None]:
    tape, marks, owner = Tape(device), list[Any](), rose.engine._device
    stream = owner if isinstance(owner, GraphDevice) else None

    def mark() -> None:
        marks.append(tape.mark())

    if stream is not None:
        stream.run(mark)
    began = time.perf_counter()
    batch = rose.batch(texts)
    packed = time.perf_counter()
    result = rose.engine.step(batch)
    launched = time.perf_counter()
    if stream is not None:
        stream.run(mark)
    result.wait()
    ended = time.perf_counter()
    if stream is not None:
        stream.mark().wait(None)
    on_device = None if stream is None else tape.ms(*marks)
    return 1000 * (packed - began), 1000 * (launched - packed), 1000 * (ended - began), on_device
