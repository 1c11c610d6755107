"""`Framed`: a model's steps over static buffers of few sizes: eager at first, then captured, then replayed.

A batch is copied into the buffers of its key, the step runs on whatever they hold, and its rows are copied out. Rows of
one dense form are made within the step; batches that ask for several forms, for terms or for tokens have their heads
run behind it, on the states that it leaves.
"""

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial

import torch

from tulip_rose.rose.backends.ahead import PlansAhead
from tulip_rose.rose.batch import Batch
from tulip_rose.rose.card import ModelCard
from tulip_rose.rose.errors import EngineDeadError, LoadError, RoseError, StepError, TooLargeError
from tulip_rose.rose.failures import Fault, fault_of
from tulip_rose.rose.graphs.arena import Arena, Frame, Widths
from tulip_rose.rose.graphs.book import Book, Run
from tulip_rose.rose.graphs.counts import Counts
from tulip_rose.rose.graphs.device import CaptureError, Graph, GraphDevice
from tulip_rose.rose.graphs.entry import Entry, too_large
from tulip_rose.rose.graphs.key import Buckets, Key
from tulip_rose.rose.graphs.launched import Abandoned, FramedLaunched
from tulip_rose.rose.graphs.prewarm import blank, keys_of
from tulip_rose.rose.graphs.ring import Ring
from tulip_rose.rose.graphs.slot import Slot
from tulip_rose.rose.graphs.state import GraphState
from tulip_rose.rose.graphs.verify import compare, texts
from tulip_rose.rose.inputs import Part
from tulip_rose.rose.layers.attention import Attention
from tulip_rose.rose.layers.head import Head, Made, fetched, taken
from tulip_rose.rose.models.model import Model
from tulip_rose.rose.options import GraphOptions
from tulip_rose.sequence import OutputKind

_SLOTS = 3
"""Steps in flight, and one more."""
_FAILURES = 64
"""Sizes that went wrong and are remembered with their reasons, of each way to do so."""

Progress = Callable[[int, int], None]
"""Is told how many graphs of how many are captured."""

log = logging.getLogger(__name__)


class Framed:
    """Of one engine, whose thread owns it."""

    def __init__(
        self,
        model: Model,
        heads: Mapping[OutputKind, Head],
        device: GraphDevice,
        options: GraphOptions,
        card: ModelCard,
        attention: Attention,
    ) -> None:
        """Take all memory; rows have at most the card's dimensions, and those of prewarmed graphs its form.

        Raises:
            LoadError: the sizes make no sense, or the list of graphs to prewarm does not.
        """
        self.counts = Counts()
        self._options, self._dtype = options, card.dtype
        self._warmed, self._warming = 0, ""
        self._failures: tuple[tuple[str, str], ...] = ()
        self._crowded: tuple[tuple[str, str], ...] = ()
        self._model, self._heads, self._device = model, heads, device
        self._ahead = attention if isinstance(attention, PlansAhead) else None
        try:
            self._buckets = buckets = Buckets(options.multiple, options.slots, options.most_tokens)
            self.book = Book[Key](options.most)
        except ValueError as error:
            raise LoadError(f"graphs: {error}") from error
        self._form = card.form()
        self._to_warm = self._list()
        self._entry = Entry(model, buckets, inside=device.heads_in_graphs)
        dtype: torch.dtype = getattr(torch, card.dtype)
        widths = Widths(model.hidden_size, dtype, card.dimensions, model.positions, model.token_types > 1)
        self._arena = Arena(device, buckets, widths)
        self._ring = Ring([Slot(device, buckets, widths) for _ in range(_SLOTS)])
        self._graphs: dict[Key, tuple[Frame, Graph]] = {}
        self._leaving: deque[tuple[int, Graph]] = deque()
        self._begun = False
        """Whether the step that is put on the stream may have anything there: planning may copy, and raise then."""
        self._turn = 0

    @property
    def ring_waits(self) -> int:
        """How often a step waited for a slot of the ring."""
        return self._ring.waits

    @property
    def state(self) -> GraphState:
        """From any thread."""
        return GraphState(
            held=len(self._graphs),
            warmed=self._warmed,
            to_warm=len(self._to_warm),
            warming=self._warming,
            failures=self._failures,
            crowded=self._crowded,
            **asdict(self.counts),
        )

    def suits(self, batch: Batch) -> bool:
        """Whether the attention can be that of a step over static buffers; else the batch takes one without."""
        return self._ahead is None or self._ahead.suits(partly=batch.texts.survey.partly)

    def prewarm(self, progress: Progress) -> None:
        """Capture the graphs of the list, and say after each how many of how many are done.

        Raises:
            LoadError: there is no room for a step, or one that has to be captured cannot be.
            EngineDeadError: the device can do nothing more.
        """
        progress(0, len(self._to_warm))
        for done, key in enumerate(self._to_warm, start=1):
            self._warming = key.size
            self._warm(key)
            self._warmed += key in self._graphs
            progress(done, len(self._to_warm))
        self._warming = ""

    def verify(self) -> None:
        """Do a step of each graph of the list with it and without it, on the same texts, and compare.

        Raises:
            LoadError: one of them makes other vectors.
            EngineDeadError: the device can do nothing more.
        """
        for key in self._to_warm:
            if key in self._graphs:
                self._warming = key.size
                batch = texts(key, self._buckets, self._model.positions, self._form, self._model.vocabulary_size)
                compare(key, partial(self._run, key, batch), self._dtype)
        self._warming = ""

    def _warm(self, key: Key) -> None:
        batch = blank(key, self._buckets, self._model.positions, self._form)
        try:
            for _ in range(2):
                self._launch(key, batch).wait(None)
        except TooLargeError as error:
            raise LoadError(f"graphs.prewarm: {error}") from error
        if self._options.on_failure == "fail" and key not in self._graphs:
            raise LoadError(f"graphs.prewarm: {key.size} could not be captured: {dict(self._failures)[key.size]}")

    def launch(self, batch: Batch) -> FramedLaunched:
        """Put a step on the device's stream.

        Raises:
            TooLargeError: the batch has no room; halves of it may have.
            IndexError: a sequence is too long, or a token or a type of one is unknown.
            EngineDeadError: the device can do nothing more.
        """
        key = self._entry.key(batch)
        launched = self._launch(key, batch)
        counts = self.counts
        counts.pad_tokens += key.tokens - batch.tokens
        counts.pad_sequences += key.slots - batch.count
        return launched

    def _launch(self, key: Key, batch: Batch) -> FramedLaunched:
        decision = self.book.decide(key, idle=self._ring.idle)
        if decision.evict is not None:
            self._evict(decision.evict)
        if decision.run is Run.SPLIT and batch.count > 1:
            raise too_large(batch, "a step of this size had no room in memory before")
        return self._run(key, batch, decision.run)

    def _run(self, key: Key, batch: Batch, run: Run) -> FramedLaunched:
        try:
            launched = self._put(key, batch, run)
        except RoseError:
            self._abandon()
            raise
        except Exception as error:
            failure = self._failure(error, key, batch)
            self._abandon()
            raise failure from error
        self._ring.hold(launched)
        return launched

    def _abandon(self) -> None:
        """Keep the slot until the device has passed what was begun: its copies may not have been made yet."""
        if self._begun and self._device.gone() is None:
            self._ring.hold(Abandoned(self._device.mark()))

    def _failure(self, error: Exception, key: Key, batch: Batch) -> RoseError:
        """What to make of an error that was met while a step was put on the stream."""
        fault, gone = fault_of(error), self._device.gone()
        if gone is not None or fault is Fault.DEVICE:
            return EngineDeadError(f"{self._device.name} failed: {gone or error}")
        if fault is Fault.STEP:
            return StepError(f"step not launched: {type(error).__name__}: {error}")
        log.warning("a step of %s had no room, its batches are split from now on: %s", key, error)
        self.book.crowd(key)
        self.counts.out_of_memory += 1
        # A single text has nothing to be split into, and meets the same again.
        if key.size not in dict(self._crowded):
            self._crowded = (*self._crowded, (key.size, str(error)))[:_FAILURES]
        return too_large(batch, "no room in memory")

    def _evict(self, key: Key) -> None:
        """Let a graph go; its memory is given back when no replay of it can be on the stream any more."""
        _, graph = self._graphs.pop(key)
        self._leaving.append((self._turn, graph))
        for slot in self._ring.slots:
            slot.drop(key)
        self.counts.evicted += 1

    def _list(self) -> tuple[Key, ...]:
        """The keys to prewarm."""
        inside = self._device.heads_in_graphs and self._form.kind is OutputKind.DENSE
        form = self._form if inside else None
        try:
            keys = keys_of(self._options.prewarm, self._buckets, self._model.positions, form)
        except ValueError as error:
            raise LoadError(f"graphs.prewarm: {error}") from error
        if len(keys) > self._options.most:
            raise LoadError(f"graphs.prewarm: {len(keys)} graphs, at most {self._options.most} are held")
        return keys

    def _put(self, key: Key, batch: Batch, run: Run) -> FramedLaunched:
        """Everything of a step, from the batch on the host to its rows there."""
        self._begun = False
        slot, held = self._ring.take(), self._graphs.get(key)
        self._turn += 1
        # The slots have gone round since, each when its step was over.
        while self._leaving and self._leaving[0][0] + _SLOTS <= self._turn:
            self._leaving.popleft()
        frame = self._arena.frame(key) if held is None else held[0]
        tray = slot.tray(key, frame, keep=held is not None)
        tray.sheet.write(batch)
        self._begun = True
        if self._ahead is not None:
            self._device.prepare(partial(self._ahead.plan_ahead, tray.starts))
        self._device.copy(frame.given, tray.given)
        self._do(key, frame, run)
        rows = tray.rows
        if rows is None:
            return self._behind(slot, frame, batch)
        count = batch.parts[0].rows
        self._device.copy(*rows.copy(count))
        return FramedLaunched(self._device.mark(), lambda: (rows.take(count),))

    def _do(self, key: Key, frame: Frame, run: Run) -> None:
        """Put the step itself on the stream."""
        if run is Run.CAPTURE:
            self._capture(key, frame)
        held = None if run is Run.EAGER else self._graphs.get(key)
        if held is None:
            self._device.run(partial(self._step, frame))
            self.counts.eager += 1
        else:
            held[1].replay()
            self.counts.replayed += 1

    def _capture(self, key: Key, frame: Frame) -> None:
        try:
            self._graphs[key] = frame, self._device.capture(partial(self._step, frame))
        except CaptureError as error:
            log.warning("%s runs without a graph, which could not be captured: %s", key.size, error)
            self.book.refuse(key)
            self.counts.capture_failed += 1
            self._failures = (*self._failures, (key.size, str(error)))[:_FAILURES]
            return
        self.book.captured(key)
        self.counts.captured += 1

    def _step(self, frame: Frame) -> None:
        """What a graph is of: from static buffers to static buffers."""
        states = self._model(frame.inputs)
        if frame.rows is None:
            frame.states.copy_(states)
            return
        part, out = frame.rows
        made = self._heads[OutputKind.DENSE](states, part, frame.inputs)
        out.rows.copy_(made.rows)
        out.finite.copy_(made.finite)

    def _behind(self, slot: Slot, frame: Frame, batch: Batch) -> FramedLaunched:
        """Run heads on the states, of sizes that the batch has and no key."""
        made: list[Made] = []

        def run() -> None:
            load, unload = slot.loads(), slot.results()
            for part in batch.parts:
                head = self._heads[part.form.kind]
                own = Part(part.form, torch.from_numpy(part.bounds), load)
                made.append(fetched(head(frame.states, own, frame.inputs), unload))

        self._device.run(run)
        return FramedLaunched(self._device.mark(), lambda: tuple(map(taken, made)))
