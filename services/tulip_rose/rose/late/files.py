"""The files that say how a model makes vectors of tokens: those of PyLate, of sentence-transformers, and of ColBERT."""

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.folder import read_object
from tulip_rose.rose.late.tokens import TokensHead
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.modules import Module
from tulip_rose.rose.own_file import OWN_FILE, read_own
from tulip_rose.rose.own_file import TOKENS as MODEL_TYPES
from tulip_rose.rose.rows.dense import Dense
from tulip_rose.rose.rows.load import load_rows
from tulip_rose.rose.rows.row_module import RowModule
from tulip_rose.rose.sparse.linear_file import LinearFile
from tulip_rose.rose.transformer_file import read_transformer
from tulip_rose.rose.weights import Weights

COLBERT = "HF_ColBERT"
"""The architecture of checkpoints whose layer lies beside the base model."""
_METADATA = "artifact.metadata"
_PYLATE = "pylate."
_MASK = "MultiVectorMask"
_TOKENS = "token_embeddings"
_COLBERT_FILE = "colbert_linear"


@dataclass(frozen=True, slots=True)
class Late:
    """How states of tokens become their vectors."""

    rows: tuple[RowModule, ...]
    normalize: bool
    size: int
    """Of a vector."""
    longest: int | None = None
    """Document in tokens that the model was made for, where its files say so."""

    @property
    def head(self) -> TokensHead:
        """What makes them."""
        return TokensHead(self.rows)


def is_late(folder: Path, architecture: str, modules: tuple[Module, ...]) -> bool:
    """Whether the folder holds a model of vectors of tokens alone."""
    if architecture == COLBERT or read_own(folder).get("model_type") in MODEL_TYPES:
        return True
    return any(module.kind == _MASK or module.kind.startswith(_PYLATE) for module in modules)


def late_of(
    folder: Path, modules: tuple[Module, ...], config: Config, weights: Weights, hidden: int, device: torch.device
) -> Late:
    """Read the layers that follow the base model, before it takes its own tensors.

    Raises:
        LoadError: a module or setting is not known, or sizes are not those of the weights.
    """
    longest = _longest(folder)
    if not modules:
        return replace(_colbert(config, weights, hidden, device), longest=longest)
    where, rest = folder / "modules.json", [_own(module) for module in modules]
    steps = [module for module in rest[1:] if module.kind != _MASK]
    strange = [module.kind for module in steps if module.kind not in ("Dense", "Normalize")]
    if rest[0].kind != "Transformer" or strange:
        found = ", ".join(module.kind for module in modules)
        raise LoadError(f"{where}: Transformer, then Dense, {_MASK} and Normalize were expected, found {found}")
    normalize = bool(steps) and steps[-1].kind == "Normalize"
    rows = load_rows(steps[:-1] if normalize else steps, hidden, device, _TOKENS)
    # PyLate itself has no module for it: whatever it loads is normalised.
    normalize = normalize or _MASK not in [module.kind for module in rest]
    return Late(rows, normalize, rows[-1].out if rows else hidden, longest)


def late_beside(folder: Path, hidden: int, device: torch.device) -> Late | None:
    """The layer that bge-m3 keeps in a file of its own; None where it is not there.

    Raises:
        LoadError: its tensors are not as they should be.
    """
    layer = LinearFile.find(folder, _COLBERT_FILE)
    if layer is None:
        return None
    weight, bias = layer.take(layer.outs, hidden)
    row = Dense(layer.outs, weight.to(device), bias.to(device), lambda rows: rows)
    return Late((row,), normalize=True, size=row.out)


def _longest(folder: Path) -> int | None:
    """The longest document, by whichever file has the length; shorter queries may be filled up to a length too.

    Raises:
        LoadError: a length is no whole number above 0.
    """
    name, transformer = read_transformer(folder)
    places = [
        (transformer, name, "document_length"),
        (read_own(folder), OWN_FILE, "document_length"),
        (read_object(folder, _METADATA), _METADATA, "doc_maxlen"),
    ]
    file, name, key = next((place for place in places if place[0].get(place[2]) is not None), places[0])
    length = file.get(key)
    if length is not None and (isinstance(length, bool) or not isinstance(length, int) or length < 1):
        raise LoadError(f"{folder / name}: {key} {length!r} is not a whole number above 0")
    return length


def _own(module: Module) -> Module:
    """A module of PyLate by the name that sentence-transformers has for it."""
    return Module("Dense", module.folder) if module.kind == f"{_PYLATE}models.Dense.Dense" else module


def _colbert(config: Config, weights: Weights, hidden: int, device: torch.device) -> Late:
    config.demand("model_type", "bert")
    size = weights.shape("linear.weight")[0]
    weight = weights.take_whole("linear.weight", (size, hidden)).to(device, copy=True)
    return Late((Dense(size, weight, None, lambda rows: rows),), normalize=True, size=size)
