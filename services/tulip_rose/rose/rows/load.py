"""From the modules that follow pooling in a folder to the row modules that do what they say."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.modules import ROW, Module
from tulip_rose.rose.rows.activation import row_activation
from tulip_rose.rose.rows.dense import Dense
from tulip_rose.rose.rows.layer_norm import LayerNorm
from tulip_rose.rose.rows.row_module import RowModule
from tulip_rose.rose.rows.unit_norm import UnitNorm
from tulip_rose.rose.weights import Weights

_DENSE = frozenset({"in_features", "out_features", "bias", "activation_function", "use_residual"})
_EPSILON = 1e-5
"""Of a LayerNorm, which has no setting for it."""
_TANH = "torch.nn.modules.activation.Tanh"


def load_rows(modules: Iterable[Module], width: int, device: torch.device, name: str = ROW) -> tuple[RowModule, ...]:
    """Read row modules one after the other, all in float32.

    Args:
        modules: each a Dense, LayerNorm or Normalize.
        width: values of a row that goes into the first.
        device: where they compute.
        name: what sentence-transformers calls what they read and write.

    Raises:
        LoadError: a setting is not understood, or sizes are not those of the weights or of the rows before.
    """
    rows: list[RowModule] = []
    for module in modules:
        rows.append(_LOADERS[module.kind](module, width, device, name))
        width = rows[-1].out
    return tuple(rows)


def _dense(module: Module, width: int, device: torch.device, name: str) -> RowModule:
    config = module.row_settings(_DENSE, name=name)
    _check_size(config, "in_features", width, module.where)
    out, has_bias = config.get("out_features"), _flag(config, "bias", module.where, default=True)
    if not isinstance(out, int) or isinstance(out, bool) or out < 1:
        raise LoadError(f"{module.where}: out_features {out!r} is not a whole number above 0")
    activation = row_activation(str(config.get("activation_function", _TANH)), module.where)
    residual: Tensor | bool = _flag(config, "use_residual", module.where, default=False)
    with Weights(module.folder, torch.float32) as weights:
        weight = weights.take("linear.weight", (out, width)).to(device, copy=True)
        bias = weights.take("linear.bias", (out,)).to(device, copy=True) if has_bias else None
        if residual and out != width:
            residual = weights.take("residual.weight", (out, width)).to(device, copy=True)
        weights.finish()
    return Dense(out, weight, bias, activation, residual)


def _layer_norm(module: Module, width: int, device: torch.device, name: str) -> RowModule:
    if name != ROW:
        raise LoadError(f"{module.where}: a LayerNorm is of rows alone, not of {name}")
    _check_size(module.settings(frozenset({"dimension"})), "dimension", width, module.where)
    with Weights(module.folder, torch.float32) as weights:
        weight, bias = (weights.take(f"norm.{part}", (width,)).to(device, copy=True) for part in ("weight", "bias"))
        weights.finish()
    return LayerNorm(weight, bias, _EPSILON)


def _unit_norm(module: Module, width: int, _: torch.device, name: str) -> RowModule:
    module.row_settings(required=False, name=name)
    return UnitNorm(width)


_LOADERS: dict[str, Callable[[Module, int, torch.device, str], RowModule]] = {
    "Dense": _dense,
    "LayerNorm": _layer_norm,
    "Normalize": _unit_norm,
}


def _check_size(config: dict[str, Any], key: str, width: int, where: str) -> None:
    if config.get(key) != width:
        raise LoadError(f"{where}: {key} is {config.get(key)!r}, the rows that come in have {width} values")


def _flag(config: dict[str, Any], key: str, where: str, *, default: bool) -> bool:
    value = config.get(key, default)
    if not isinstance(value, bool):
        raise LoadError(f"{where}: {key} {value!r} is not true or false")
    return value
