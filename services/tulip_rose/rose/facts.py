"""What the sentence-transformers files of a model folder say about its vectors. Pure but for reading them; no torch.

Whatever is present and not understood stops the load: a step left out would give other vectors, and nobody would see.
"""

from dataclasses import dataclass
from pathlib import Path

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.modules import SCORES, Module, read_modules
from tulip_rose.rose.options import EngineOptions
from tulip_rose.rose.pooling_words import FLAGS, KNOWN, Poolings, of_files, of_manifest
from tulip_rose.rose.transformer_file import STATES, Call, read_length

ROWS = ("Dense", "LayerNorm", "Normalize")
"""Modules that may follow pooling, in any order."""
_IDLE = ("Dropout",)
"""Modules that do something in training alone."""
_QUANTIZERS = ("st_quantize.FlexibleQuantizer",)
"""Ends of models whose vectors are stored as int8 or bits: here a request says how they are stored."""
_SIZES = ("embedding_dimension", "word_embedding_dimension")
_POOLING_KEYS = frozenset({*_SIZES, "pooling_mode", "include_prompt", *FLAGS})


@dataclass(frozen=True, slots=True)
class Facts:
    """How token states become vectors."""

    poolings: Poolings
    include_prompt: bool
    """Whether a prompt is pooled with its text. If not, callers leave it out of the span."""
    rows: tuple[Module, ...]
    """What pooled rows go through, but for a last Normalize."""
    normalize: bool
    """Whether rows have unit norm in the end, unless a caller asks otherwise."""
    max_input_tokens: int

    @property
    def scores(self) -> bool:
        """Whether the rows are scores in the end."""
        return bool(self.rows) and self.rows[-1].scores


def read_facts(folder: Path, options: EngineOptions, *, positions: int, hidden: int) -> Facts:
    """Join what the folder says with what the caller overrides.

    Args:
        folder: the model folder.
        options: overrides win over files.
        positions: longest sequence that the architecture can take.
        hidden: values of a token's state.

    Raises:
        LoadError: a module or pooling that is not known, a length or size that the model cannot give.
    """
    pooling, rows = _steps(folder)
    poolings, include_prompt = _poolings(folder, pooling, options, hidden)
    normalize = bool(rows) and rows[-1].kind == "Normalize"
    if normalize:
        rows[-1].row_settings(required=False)
    return Facts(
        poolings=poolings,
        include_prompt=include_prompt,
        rows=rows[:-1] if normalize else rows,
        normalize=normalize if options.normalize is None else options.normalize,
        max_input_tokens=_max_input_tokens(folder, options, positions),
    )


def alone_facts(
    folder: Path,
    options: EngineOptions,
    positions: int,
    *,
    understood: frozenset[str],
    call: Call,
    normalize: bool,
) -> Facts:
    """The facts of a model that gives no dense vector.

    Args:
        folder: the model folder.
        options: overrides win over files.
        positions: longest sequence that the architecture can take.
        understood: settings of the Transformer module that somebody else goes by.
        call: how the base model is called.
        normalize: whether its rows have unit norm.

    Raises:
        LoadError: a setting is not understood, or the manifest asks for a pooling, of which there is none.
    """
    if options.pooling is not None:
        raise LoadError(f"pooling {options.pooling!r}: {folder} holds a model that gives no dense vector")
    chosen = normalize if options.normalize is None else options.normalize
    return Facts((), True, (), chosen, _max_input_tokens(folder, options, positions, understood, call))


def _steps(folder: Path) -> tuple[Module | None, tuple[Module, ...]]:
    """The module that pools, and those after it; of a folder that says nothing, nothing."""
    modules = read_modules(folder)
    if modules is None:
        return None, ()
    where, kinds = folder / "modules.json", [module.kind for module in modules]
    known = ("Transformer", "Pooling", *ROWS, *_IDLE)
    for kind in kinds:
        if kind not in (*known, *_QUANTIZERS):
            raise LoadError(f"{where}: module {kind} is not known; known are {', '.join(known)}")
    ends = kinds[:-1] if kinds[-1:] and kinds[-1] in _QUANTIZERS else kinds
    if ends[:2] != ["Transformer", "Pooling"] or not {*ends[2:]} <= {*ROWS, *_IDLE}:
        order = "Transformer, Pooling, then any of " + ", ".join(ROWS)
        raise LoadError(f"{where}: modules come as {order}; found {', '.join(kinds)}")
    if modules[0].folder != folder:
        raise LoadError(f"{where}: the Transformer has to lie in the folder itself, not in {modules[0].folder.name}")
    rows = tuple(module for module in modules[2 : len(ends)] if module.kind in ROWS)
    for module in rows[:-1]:
        if module.scores:
            raise LoadError(f"{module.where}: module_output_name {SCORES!r}, but other modules follow in {where.name}")
    return modules[1], rows


def _poolings(folder: Path, module: Module | None, options: EngineOptions, hidden: int) -> tuple[Poolings, bool]:
    if module is None:
        if options.pooling is None:
            raise LoadError(f"{folder}: no module says how to pool; set spec.embedding.pooling to one of {KNOWN}")
        return of_manifest(options.pooling), True
    config = module.settings(_POOLING_KEYS)
    for key in _SIZES:
        if config.get(key, hidden) != hidden:
            raise LoadError(f"{module.where}: {key} is {config[key]!r}, the states of the model have {hidden} values")
    include = config.get("include_prompt", True)
    if not isinstance(include, bool):
        raise LoadError(f"{module.where}: include_prompt {include!r} is not true or false")
    return of_files(config, module.where) if options.pooling is None else of_manifest(options.pooling), include


def _max_input_tokens(
    folder: Path,
    options: EngineOptions,
    positions: int,
    understood: frozenset[str] = frozenset(),
    call: Call = STATES,
) -> int:
    own, asked = read_length(folder, positions, understood, call), options.max_input_tokens
    if asked is not None and not 1 <= asked <= positions:
        raise LoadError(f"maxInputTokens {asked} is not between 1 and the {positions} positions of the model")
    return asked or own
