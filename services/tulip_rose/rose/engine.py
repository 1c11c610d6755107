"""`Engine`: a loaded model on a device. `step(batch) -> LazyTensor` is all there is to it.

engine = Engine.load(Path("all-MiniLM-L6-v2"), EngineOptions())
batch = Batch.pack([Sequence.whole(ids, engine.card.form()) for ids in texts])
vectors = engine.step(batch).wait().array()
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import inf
from pathlib import Path

import numpy as np
import torch

from tulip_rose.rose.batch import Batch
from tulip_rose.rose.buckets import bucket_tokens
from tulip_rose.rose.card import ModelCard, Task
from tulip_rose.rose.cuda import used_bytes
from tulip_rose.rose.device import Device
from tulip_rose.rose.digest import folder_digest
from tulip_rose.rose.errors import LoadError, StepError, TrialError
from tulip_rose.rose.folder import read_object
from tulip_rose.rose.graphs.device import GraphDevice
from tulip_rose.rose.graphs.framed import Framed, Progress
from tulip_rose.rose.graphs.open import open_device
from tulip_rose.rose.graphs.state import NO_GRAPHS, GraphState
from tulip_rose.rose.heads import Heads, join_heads, score_heads
from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.layers.head import Head, Made
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.lazy import LazyTensor
from tulip_rose.rose.memory import give_back
from tulip_rose.rose.models.model import Config, Model
from tulip_rose.rose.models.registry import find_model
from tulip_rose.rose.options import DTYPES, GRAPH_MODES, ON_CAPTURE_FAILURE, EngineOptions, GraphOptions
from tulip_rose.rose.outputs import read_outputs
from tulip_rose.rose.plan.memory import UNPLANNED, Memory
from tulip_rose.rose.pooling_words import to_manifest
from tulip_rose.rose.room import Room
from tulip_rose.rose.scoring.read import read_scorer
from tulip_rose.rose.tokenizer_check import check_tokenizer, told_of_no_end
from tulip_rose.rose.weights import Weights
from tulip_rose.sequence import OutputKind, Sequence, Want

log = logging.getLogger(__name__)


class Engine:
    """A model on a device. Not for use by two threads at once: one thread owns it (see `loop`)."""

    def __init__(
        self,
        model: Model,
        heads: Mapping[OutputKind, Head],
        device: Device,
        kit: Kit,
        card: ModelCard,
        framed: Framed | None = None,
        memory: Memory = UNPLANNED,
    ) -> None:
        """Take a loaded model; `framed` has its steps where the device has graphs."""
        self.card = card
        self.memory = memory
        self.framed = framed
        self._model = model
        self._heads = heads
        self._device = device
        self._kit = kit

    @classmethod
    def load(cls, path: Path, options: EngineOptions | None = None) -> "Engine":
        """Load the model in a folder and run one step of it.

        Raises:
            LoadError: it cannot be served as asked; one line that names the file and the key. Where its step fails it
                is a TrialError, and names the attention.
            EngineDeadError: the device can do nothing more.
        """
        options = options or EngineOptions()
        _check(path, options)
        config = read_object(path, "config.json", required=True)
        name, model_type = find_model(config, str(path / "config.json"))
        device = open_device(options.device, options.threads, options.graphs.mode)
        kit = device.kit(options.dtype, options.attention_backend)
        with torch.inference_mode():
            with Weights(path, getattr(torch, options.dtype), model_type.prefix) as weights:
                says = Config(config, str(path / "config.json"))
                room = _room(says, weights, options, device)
                scorer = read_scorer(path, name, says, options, weights, device.torch_device)
                outputs = read_outputs(path, name, says, weights, kit, device.torch_device)
                model = model_type(says, weights, kit, device.torch_device)
            check_tokenizer(path, name, config, model.vocabulary_size)
            if scorer is None:
                heads = join_heads(path, config, options, model, outputs, kit, device.torch_device)
                if (told := told_of_no_end(path, heads.facts.poolings)) is not None:
                    log.warning("%s", told)
            else:
                heads = score_heads(path, options, model, scorer, kit)
        card = _card(path, options, heads, model, name, device.name, kit.attention.name)
        framed, memory = None, _unplanned(device)
        if isinstance(device, GraphDevice) and room is not None:
            memory = room.check_all(card, kit.attention, heads.by_kind.values())
            graphs = replace(options.graphs, most_tokens=max(options.graphs.most_tokens, card.max_input_tokens))
            framed = Framed(model, heads.by_kind, device, graphs, card, kit.attention)
        engine = cls(model, heads.by_kind, device, kit, card, framed, memory)
        engine._try_both(path, options.graphs)
        # A backend may be chosen when a layer attends for the first time.
        engine.card = replace(card, attention_backend=kit.attention.name)
        give_back()
        return engine

    def step(self, batch: Batch) -> LazyTensor:
        """Launch one forward pass; returns at once.

        Raises:
            TooLargeError: the batch has no room on a device with graphs; halves of it may have.
            EngineDeadError: the device can do nothing more.
        """
        if self.framed is not None and self.framed.suits(batch):
            return LazyTensor(self.framed.launch(batch), batch.places)
        launched = self._device.launch(partial(self._work, batch), batch.tokens)
        return LazyTensor(launched, batch.places)

    def prewarm(self, progress: Progress = lambda warmed, to_warm: None) -> None:
        """Capture the graphs that the options list, largest first; call before the first batch.

        Args:
            progress: is told how many of how many are done, at the beginning and after each.

        Raises:
            LoadError: a graph has no room, or it cannot be captured and `on_failure` is fail.
            EngineDeadError: the device can do nothing more.
        """
        if self.framed is not None:
            self.framed.prewarm(progress)

    def verify(self) -> None:
        """Compare the graphs that `prewarm` captured with the same steps without them.

        Raises:
            LoadError: one of them makes other vectors.
            EngineDeadError: the device can do nothing more.
        """
        if self.framed is not None:
            self.framed.verify()

    @property
    def graphs(self) -> GraphState:
        """What became of graphs by now; from any thread. All zeros on a device without."""
        return NO_GRAPHS if self.framed is None else self.framed.state

    def close(self) -> None:
        """Finish what is under way and give the device back."""
        self._device.close()

    def _work(self, batch: Batch) -> list[Made]:
        inputs = Inputs.of(batch)
        if self._kit.rounds:
            inputs = inputs.padded(bucket_tokens(batch.tokens))
        inputs = inputs.to(self._device.torch_device, self._device.load)
        states = self._model(inputs)
        return [self._heads[part.form.kind](states, part, inputs) for part in inputs.parts]

    def _try_both(self, path: Path, graphs: GraphOptions) -> None:
        """Try a step, and where it cannot be one over static buffers, one without.

        Some attention reads where sequences begin on the host alone, which shows when a layer attends.
        """
        try:
            self._try(path)
        except LoadError as error:
            if self.framed is None or graphs.on_failure == "fail":
                raise
            log.warning("steps run without graphs: %s", error)
            self.framed, self.memory = None, _unplanned(self._device)
            self._try(path)

    def _try(self, path: Path) -> None:
        """One token through everything: what cannot run is found before anybody waits for it."""
        ids = np.zeros(1, dtype=np.int32)
        wants = tuple(Want(((0, 1),), self.card.form(kind)) for kind in self.card.outputs)
        try:
            rows = self.step(Batch.pack([Sequence(ids, wants, 0.0, inf)])).wait()
        except StepError as error:
            # What compilers of kernels say has many lines.
            why = " ".join(str(error).split())
            raise TrialError(f"{path}: with attention {self._kit.attention.name} a step fails: {why}") from error
        if any(rows.failed(0, want) for want in range(len(wants))):
            raise TrialError(f"{path}: the model gives no finite vector for token 0 in {self.card.dtype}")


def _check(path: Path, options: EngineOptions) -> None:
    if not path.is_dir():
        raise LoadError(f"{path}: no such folder; a model is a folder with config.json and model.safetensors")
    if options.dtype not in DTYPES:
        known = f"{', '.join(DTYPES)} (float16 has too small a range for several families)"
        raise LoadError(f"dtype {options.dtype!r} is not known; known are {known}")
    graphs = options.graphs
    for name, value, choices in (
        ("mode", graphs.mode, GRAPH_MODES),
        ("on_failure", graphs.on_failure, ON_CAPTURE_FAILURE),
    ):
        if value not in choices:
            raise LoadError(f"graphs.{name} {value!r} is not known; known are {', '.join(choices)}")


def _room(config: Config, weights: Weights, options: EngineOptions, device: Device) -> Room | None:
    """What a model with graphs takes of its device, which has room at least for its weights."""
    if not isinstance(device, GraphDevice):
        return None
    room = Room.of(config, weights, options, device.torch_device)
    room.check_any()
    return room


def _unplanned(device: Device) -> Memory:
    """Of a device that tells what is used of it."""
    return Memory({}, partial(used_bytes, device.torch_device))


def _card(
    path: Path,
    options: EngineOptions,
    heads: Heads,
    model: Model,
    architecture: str,
    device: str,
    attention: str,
) -> ModelCard:
    facts = heads.facts
    meaning = {
        "dtype": options.dtype,
        "pooling": to_manifest(facts.poolings),
        "normalize": facts.normalize,
        "maxInputTokens": facts.max_input_tokens,
    }
    return ModelCard(
        architecture=architecture,
        dtype=options.dtype,
        device=device,
        attention_backend=attention,
        dimensions=heads.dimensions.default,
        allowed_dimensions=heads.dimensions.allowed,
        max_input_tokens=facts.max_input_tokens,
        vocabulary_size=model.vocabulary_size,
        token_types=model.token_types,
        pooling=to_manifest(facts.poolings),
        normalize=facts.normalize,
        include_prompt=facts.include_prompt,
        outputs=tuple(heads.by_kind),
        token_dimensions=heads.token_dimensions,
        max_terms=heads.max_terms,
        task=Task.SCORE if heads.labels else Task.EMBED,
        labels=heads.labels,
        model_digest=options.model_digest or folder_digest(path, meaning),
    )
