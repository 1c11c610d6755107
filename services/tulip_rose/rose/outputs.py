"""`Outputs`: what a model gives besides a dense vector, or in its place, and the heads that make it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.late.files import is_late, late_beside, late_of
from tulip_rose.rose.layers.head import Head
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.modules import Module, read_modules
from tulip_rose.rose.sparse.files import POOLING, lexical_head, splade_head
from tulip_rose.rose.transformer_file import LENGTHS, STATES, TERMS, Call
from tulip_rose.rose.weights import Weights
from tulip_rose.sequence import OutputKind

_NOT_SERVED = {
    "SparseStaticEmbedding": "weights of terms from a table, without a model, are",
    "SparseAutoEncoder": "sparse codes of dense vectors are",
    "Router": "a model of one road for queries and another for documents is",
}


@dataclass(frozen=True, slots=True)
class Outputs:
    """Heads of other kinds than dense."""

    heads: Mapping[OutputKind, Head] = field(default_factory=dict)
    alone: bool = False
    """Whether there is no dense vector."""
    normalize: bool = False
    """Of vectors of tokens, where they are alone."""
    token_dimensions: int = 0
    terms: int = 0
    """That a sparse row can have; 0: as many as its span has tokens."""
    call: Call = STATES
    """How the base model is called, where the heads are alone."""
    understood: frozenset[str] = frozenset()
    """Settings of the Transformer module that a gateway goes by, where the heads are alone."""
    longest: int | None = None
    """Input in tokens that the model was made for, where the heads are alone and say so."""


def read_outputs(
    folder: Path, architecture: str, config: Config, weights: Weights, kit: Kit, device: torch.device
) -> Outputs:
    """Find the heads of a folder, and take their tensors before the base model takes its own.

    Raises:
        LoadError: a module or setting is not known, or a tensor is not as it should be.
    """
    modules = read_modules(folder) or ()
    _check(folder, modules)
    hidden = config.integer(config.spelling("hidden_size", "dim", "n_embd"))
    if any(module.kind == POOLING for module in modules):
        splade = splade_head(modules, architecture, config, weights, kit, device)
        return Outputs({OutputKind.SPARSE: splade}, alone=True, terms=splade.terms, call=TERMS)
    if is_late(folder, architecture, modules):
        late = late_of(folder, modules, config, weights, hidden, device)
        return Outputs(
            {OutputKind.TOKENS: late.head}, True, late.normalize, late.size, understood=LENGTHS, longest=late.longest
        )
    beside, lexical = late_beside(folder, hidden, device), lexical_head(folder, config, device)
    heads: dict[OutputKind, Head] = {} if lexical is None else {OutputKind.SPARSE: lexical}
    if beside is None:
        return Outputs(heads)
    return Outputs({**heads, OutputKind.TOKENS: beside.head}, token_dimensions=beside.size)


def _check(folder: Path, modules: tuple[Module, ...]) -> None:
    for module in modules:
        if module.kind in _NOT_SERVED:
            raise LoadError(f"{folder / 'modules.json'}: module {module.kind}: {_NOT_SERVED[module.kind]} not served")
