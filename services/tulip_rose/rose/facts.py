"""What the sentence-transformers files of a model folder say about its vectors. Pure but for reading them; no torch.

Old and new spellings are both in use on published models: module types by full path under two package layouts, pooling
as a set of booleans or as one word.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.folder import read_json, read_object
from tulip_rose.rose.options import EngineOptions
from tulip_rose.rose.pooling_words import KNOWN, Poolings, of_files, of_manifest


_MODULES = ("Transformer", "Pooling", "Normalize")
_MAX_LENGTH_FILES = ("sentence_bert_config.json", "sentence_roberta_config.json", "sentence_xlm-roberta_config.json")


@dataclass(frozen=True, slots=True)
class Facts:
    """How token states become vectors."""

    poolings: Poolings
    normalize: bool
    max_input_tokens: int
    allowed_dimensions: tuple[int, ...]


def read_facts(folder: Path, config: dict[str, Any], options: EngineOptions, *, positions: int, native: int) -> Facts:
    """Join what the folder says with what the caller overrides.

    Args:
        folder: the model folder.
        config: its `config.json`.
        options: overrides win over files.
        positions: longest sequence that the architecture can take.
        native: dimensions of an uncut vector.

    Raises:
        LoadError: a module or pooling that is not known, a length or size that the model cannot give.
    """
    modules = _modules(folder)
    return Facts(
        poolings=_poolings(folder, modules, options),
        normalize=_normalize(modules, options),
        max_input_tokens=_max_input_tokens(folder, options, positions),
        allowed_dimensions=_allowed_dimensions(folder, config, options, native),
    )


def _modules(folder: Path) -> dict[str, str] | None:
    """Module name → its subfolder, in order; None without a modules.json."""
    entries = read_json(folder, "modules.json")
    if entries is None:
        return None
    try:
        modules = {entry["type"].rsplit(".", 1)[-1]: entry.get("path", "") for entry in entries}
    except (TypeError, KeyError, AttributeError) as error:
        raise LoadError(f"{folder / 'modules.json'}: a list of objects with a type was expected") from error
    for name in modules:
        if name not in _MODULES:
            raise LoadError(f"{folder / 'modules.json'}: module {name} is not known; known are {', '.join(_MODULES)}")
    if [name for name in _MODULES if name in modules] != list(modules):
        raise LoadError(f"{folder / 'modules.json'}: modules come as {', '.join(_MODULES)}, found {', '.join(modules)}")
    return modules


def _poolings(folder: Path, modules: dict[str, str] | None, options: EngineOptions) -> Poolings:
    if options.pooling is not None:
        return of_manifest(options.pooling)
    if modules is None or "Pooling" not in modules:
        raise LoadError(f"{folder}: no module says how to pool; set spec.embedding.pooling to one of {KNOWN}")
    name = f"{modules['Pooling']}/config.json"
    config = read_object(folder, name, required=True)
    if config.get("include_prompt") is False:
        raise LoadError(f"{folder / name}: include_prompt false (the prompt left out of pooling) is not supported")
    return of_files(config, str(folder / name))


def _normalize(modules: dict[str, str] | None, options: EngineOptions) -> bool:
    if options.normalize is not None:
        return options.normalize
    return modules is not None and "Normalize" in modules


def _max_input_tokens(folder: Path, options: EngineOptions, positions: int) -> int:
    asked = options.max_input_tokens
    if asked is not None:
        if not 1 <= asked <= positions:
            raise LoadError(f"maxInputTokens {asked} is not between 1 and the {positions} positions of the model")
        return asked
    for name in _MAX_LENGTH_FILES:
        length = read_object(folder, name).get("max_seq_length")
        if length is not None:
            if not isinstance(length, int) or length < 1:
                raise LoadError(f"{folder / name}: max_seq_length {length!r} is not a whole number above 0")
            return min(length, positions)
    return positions


def _allowed_dimensions(folder: Path, config: dict[str, Any], options: EngineOptions, native: int) -> tuple[int, ...]:
    allowed = options.allowed_dimensions
    if allowed is None:
        own = read_object(folder, "config_sentence_transformers.json")
        allowed = own.get("matryoshka_dimensions") or config.get("matryoshka_dimensions") or ()
    for size in allowed:
        if not isinstance(size, int) or not 1 <= size <= native:
            raise LoadError(f"dimensions.allowed: {size!r} is not between 1 and the {native} dimensions of the model")
    return tuple(sorted({size for size in allowed if size != native}))
