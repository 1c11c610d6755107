"""What a config says of rotary positions: their base, and how they are scaled. Old and new spellings.

Old configs spell each base with a key of its own and scale all layers by `rope_scaling`; new ones have
`rope_parameters`, by type of layer where there are several.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.layers.rope import Rope
from tulip_rose.rose.layers.rope_scaling import ByWavelength, Linear, Scaling, Yarn, yarn_amplitude
from tulip_rose.rose.models.model import Config


@dataclass(frozen=True, slots=True)
class OldBase:
    """How older configs spell a base."""

    key: str
    default: float
    scaled: bool = True
    """Whether `rope_scaling` is about these layers too."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The object of a config that is about some layers."""

    values: Mapping[str, Any]
    where: str
    config: Config
    kind: str | None

    def number(self, key: str, default: float | None = None) -> float:
        """A number above 0.

        Raises:
            LoadError: it is something else, or missing without a default.
        """
        value = self.values.get(key)
        value = default if value is None else value
        if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
            raise LoadError(f"{self.where}.{key} is {value!r}, a number above 0 was expected")
        return float(value)

    def factor(self) -> float:
        """By how much positions are stretched.

        Raises:
            LoadError: it is no number of at least 1.
        """
        factor = self.number("factor")
        if factor < 1:
            raise LoadError(f"{self.where}.factor is {factor}, at least 1 was expected")
        return factor

    def first_positions(self) -> int:
        """The length of the first training."""
        key, positions = "original_max_position_embeddings", self.config.integer("max_position_embeddings")
        # Beside the object the key is about all layers, and stands above it.
        beside = self.kind is None and self.config.values.get(key) is not None
        return self.config.integer(key) if beside else int(self.number(key, positions))


def rope_of(
    config: Config, old: OldBase, size: int, positions: int, device: torch.device, kind: str | None = None
) -> Rope:
    """The rotary positions of layers of one kind, or of all.

    Args:
        config: says it as `rope_parameters`, or under the old keys.
        old: what older configs call the base.
        size: of a head.
        positions: longest sequence.
        device: where the table lies.
        kind: the layers' type where types differ; None: all layers have the same.

    Raises:
        LoadError: a base that is no number above 0, a scaling that is not known, or a part of one that is not.
    """
    found = _found(config, old, kind)
    base = found.values.get("rope_theta", config.number(old.key, old.default))
    if not isinstance(base, int | float) or base <= 0:
        raise LoadError(f"{found.where}.rope_theta is {base!r}, a number above 0 was expected")
    return Rope(float(base), size, positions, device, _scaling(found))


def _found(config: Config, old: OldBase, kind: str | None) -> _Found:
    new, scaling = config.values.get("rope_parameters"), config.values.get("rope_scaling")
    where = f"rope_parameters{f'.{kind}' if kind else ''}"
    if new is None:
        where, found = "rope_scaling", (scaling or {}) if old.scaled else {}
    elif scaling:
        raise LoadError(f"{config.where}: rope_scaling and rope_parameters are both there: one would be ignored")
    else:
        found = new.get(kind) if kind is not None and isinstance(new, dict) else new
    if not isinstance(found, dict):
        raise LoadError(f"{config.where}: {where} is {found!r}, an object was expected")
    return _Found(found, f"{config.where}: {where}", config, kind)


def _scaling(found: _Found) -> Scaling | None:
    """How speeds are scaled, if they are.

    Raises:
        LoadError: by a law, or by a key of one, that is not known.
    """
    partly = found.values.get("partial_rotary_factor")
    if partly not in (None, 1):
        raise LoadError(f"{found.where}.partial_rotary_factor {partly!r} is not supported; known is 1")
    kind = found.values.get("rope_type", found.values.get("type", "default"))
    if kind not in _KINDS:
        raise LoadError(f"{found.where}.rope_type {kind!r} is not supported; known are {', '.join(map(repr, _KINDS))}")
    keys, read = _KINDS[kind]
    for key, value in found.values.items():
        # What stands beside plain positions is read by nobody, neither here nor in the reference.
        if kind != "default" and value is not None and key not in (*_ALWAYS, *keys):
            raise LoadError(f"{found.where}.{key} is not known of rope_type {kind!r}")
    return read(found)


def _linear(found: _Found) -> Scaling:
    return Linear(found.factor())


def _by_wavelength(found: _Found) -> Scaling:
    slow, fast = found.number("low_freq_factor"), found.number("high_freq_factor")
    if fast <= slow:
        raise LoadError(f"{found.where}.high_freq_factor {fast} is not above low_freq_factor, {slow}")
    return ByWavelength(found.factor(), slow, fast, found.first_positions())


def _yarn(found: _Found) -> Scaling:
    if found.values.get("truncate", True) is not True:
        raise LoadError(f"{found.where}.truncate {found.values['truncate']!r} is not supported; known is True")
    factor = found.factor()
    return Yarn(
        factor,
        found.number("beta_slow", 1.0),
        found.number("beta_fast", 32.0),
        found.first_positions(),
        found.number("attention_factor", _amplitude(found, factor)),
    )


def _amplitude(found: _Found, factor: float) -> float:
    weights = [found.values.get(key) for key in ("mscale", "mscale_all_dim")]
    if not all(weights):
        return yarn_amplitude(factor)
    own, all_dimensions = (yarn_amplitude(factor, found.number(key)) for key in ("mscale", "mscale_all_dim"))
    return own / all_dimensions


def _as_they_are(found: _Found) -> None:
    """Also `dynamic`, which scales texts beyond `max_position_embeddings` alone: none is read that is longer."""


_ALWAYS = ("rope_type", "type", "rope_theta", "partial_rotary_factor")
_YARN = ("attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate")
_KINDS: dict[str, tuple[tuple[str, ...], Callable[[_Found], Scaling | None]]] = {
    "default": ((), _as_they_are),
    "dynamic": (("factor",), _as_they_are),
    "linear": (("factor",), _linear),
    "llama3": (
        ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
        _by_wavelength,
    ),
    "yarn": (("factor", "original_max_position_embeddings", *_YARN), _yarn),
}
"""Of each law, in transformers' words: its keys, and who reads them."""
