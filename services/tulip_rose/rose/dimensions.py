"""`Dimensions`: how long vectors are, and to what they may be cut. Knows no torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.options import EngineOptions
from tulip_rose.rose.own_file import OWN_FILE, read_own


@dataclass(frozen=True, slots=True)
class Dimensions:
    """Sizes of vectors."""

    default: int
    """What a caller gets who asks for none."""
    allowed: tuple[int, ...]
    """What may be asked for besides: only what the model was trained for, or what a person allowed. Ascending."""


def read_dimensions(folder: Path, config: dict[str, Any], options: EngineOptions, full: int) -> Dimensions:
    """Join what the folder says with what the caller overrides.

    Args:
        folder: of the model.
        config: its `config.json`.
        options: overrides win over files.
        full: values of a vector that is not cut.

    Raises:
        LoadError: a size is not one that a vector of `full` values can be cut to.
    """
    own = read_own(folder)
    default = full
    if own.get("truncate_dim") is not None:
        default = _size(own["truncate_dim"], f"{folder / OWN_FILE}: truncate_dim", full)
    allowed = _allowed(folder, own, config, options, full)
    return Dimensions(default, tuple(sorted(set(allowed) - {default})))


def _allowed(
    folder: Path, own: dict[str, Any], config: dict[str, Any], options: EngineOptions, full: int
) -> tuple[int, ...]:
    if options.allowed_dimensions is not None:
        found, what = options.allowed_dimensions, "dimensions.allowed:"
    else:
        holder, name = (own, OWN_FILE) if own.get("matryoshka_dimensions") else (config, "config.json")
        found, what = holder.get("matryoshka_dimensions") or (), f"{folder / name}: matryoshka_dimensions"
    if not isinstance(found, list | tuple):
        raise LoadError(f"{what} {found!r} is not a list of sizes")
    return tuple(_size(size, what, full) for size in found)


def _size(size: Any, what: str, full: int) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= full:
        raise LoadError(f"{what} {size!r} is not between 1 and the {full} dimensions of the model")
    return size
