"""`ModelRun`: everything that is done with one model, in its order: correctness first."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.gpu import correct, show, speed, timeline
from bench.gpu.clients import Served, serve
from bench.gpu.contenders import EAGER, Field, gather, options
from bench.gpu.failures import Failures, some
from bench.gpu.models import SEED, Reference, Shape, made_up
from bench.gpu.scale import GPU, Clock, Scale
from bench.gpu.targets import TARGETS, Target

PARTS = {"parity": 45.0, "graphs": 20.0, "latency": 40.0, "throughput": 40.0, "clients": 30.0, "timeline": 20.0}
"""In their order, with the seconds that each needs for one model on a GPU, which are guesses."""


@dataclass
class ModelRun:
    """One model.

    Attributes:
        key: of the model among `SHAPES` and `TARGETS`.
        shape: of the model.
        folder: with its files.
        scale: how much is done.
        clock: what is left of the time.
        say: what begins now.
        sections: headings and Markdown, as they come.
        data: what was measured, for JSON.
        failures: of correctness, and what raised.
    """

    key: str
    shape: Shape
    folder: Path
    scale: Scale
    clock: Clock
    say: Callable[[str], None]
    sections: list[tuple[str, str]] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    failures: Failures = field(init=False)

    def __post_init__(self) -> None:
        self.failures = Failures(self.shape.name)

    def do(self, parts: Sequence[str], backends: Sequence[str]) -> None:
        """Load everybody, and do these parts."""
        steps = {
            "parity": self._parity,
            "graphs": self._graphs,
            "latency": self._latency,
            "throughput": self._throughput,
            "clients": self._clients,
            "timeline": self._timeline,
        }
        self.say("loading")
        contenders = gather(self.shape, self.folder, self.scale, backends, self.failures)
        self.clock.left_out += [f"{self.shape.name}: {why}" for why in contenders.left_out]
        try:
            for part in parts:
                if self.clock.room(f"{self.shape.name}: {part}", PARTS[part] if self.scale.device == GPU else 0.0):
                    self.say(part)
                    self.failures.attempt(part, partial(steps[part], contenders))
        finally:
            self.say("closing")
            contenders.close()

    @property
    def _vocabulary(self) -> int:
        return int(self.shape.of(small=self.scale.small)["vocab_size"])

    @property
    def _targets(self) -> tuple[Target, ...]:
        """What is aimed at for the model itself; of a small one of its kind nothing is."""
        return () if self.scale.small else TARGETS[self.key]

    def _add(self, heading: str, text: str, data: Any) -> None:
        self.sections.append((f"{self.shape.name}: {heading}", text))
        self.data[heading] = data

    def _parity(self, contenders: Field) -> None:
        if find_spec("transformers") is None:
            self.clock.left_out.append(f"{self.shape.name}: parity: transformers is not installed")
            return
        reference = Reference(self.shape, self.folder, self.scale.device, "float32")
        texts, rows = correct.expected(reference, self.scale, self._vocabulary)
        plain = partial(correct.in_float32, self.folder, self.scale, texts, rows)
        found = some([self.failures.attempt("parity, eager, torch in float32", plain)])
        found += correct.of_contenders(contenders, self.scale, texts, rows, self.failures)
        for each in found:
            if not each.holds:
                said = f"cosine {each.cosine:.6f}, {each.needed:.6f} is needed"
                self.failures.add(f"{each.name} in {each.dtype}: {said}")
        likeness = correct.likeness(rows)
        self._add("vectors", show.parities(found, likeness), {"likeness": likeness, "of": list(map(asdict, found))})

    def _graphs(self, contenders: Field) -> None:
        found = some(
            [
                self.failures.attempt(
                    f"graphs, {rose.name}, {sequences} texts of {tokens} tokens",
                    partial(correct.sameness, rose, tokens, sequences, self._vocabulary),
                )
                for tokens, sequences in self.scale.sizes
                for rose in contenders.roses
                if rose.graphs
            ]
        )
        for each in found:
            if not each.holds:
                said = f"a replay differs by {each.difference:g}" if each.captured else "no graph was captured"
                self.failures.add(f"{each.name}, {each.sequences} texts of {each.tokens} tokens: {said}")
        self._add("graphs and eager steps", show.samenesses(found), list(map(asdict, found)))

    def _latency(self, contenders: Field) -> None:
        found = speed.latency(contenders, self.scale, self.clock, self._vocabulary, self.failures)
        self._add("latency", show.latencies(found, self._targets), found)

    def _throughput(self, contenders: Field) -> None:
        found = speed.throughput(contenders, self.scale, self.clock, self._vocabulary, self.failures)
        self._add("throughput", show.throughputs(found, self._targets), found)

    def _clients(self, contenders: Field) -> None:
        found = list[Served]()
        for clients in self.scale.clients:
            for rose in tuple(contenders.roses):
                work = partial(serve, rose, clients, self.scale, self._vocabulary)
                served = self.failures.attempt(f"{clients} clients, {rose.name}", work)
                if served is None:
                    # A thread of its own may be at work with it for good.
                    contenders.roses.remove(rose)
                else:
                    found.append(served)
        self._add("clients", show.served(found, self.scale.client_tokens), list(map(asdict, found)))

    def _timeline(self, contenders: Field) -> None:
        batches = [[length] for length in self.scale.lengths[:: max(1, len(self.scale.lengths) - 1)]]
        batches.append([self.scale.text_tokens] * (self.scale.batch_tokens // self.scale.text_tokens))
        texts = [made_up(lengths, self._vocabulary, SEED) for lengths in batches]
        host = some(
            [
                self.failures.attempt(
                    f"host and device, {rose.name}", partial(timeline.host_times, rose, each, self.scale.device)
                )
                for each in texts
                for rose in contenders.roses
            ]
        )
        self._add("host and device", show.host_times(host), list(map(asdict, host)))
        eager = options(self.scale, "auto", EAGER, self.scale.dtype)
        names = [f"{len(each)} of {each[0].size:,} tokens" for each in texts]
        found = dict(zip(names, timeline.layers(self.folder, eager, texts), strict=True))
        self._add("layers of a step", show.layers(found), found)
