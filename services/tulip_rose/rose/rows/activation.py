"""Functions that follow a Dense module, by the class that its settings name. Nothing is imported by name."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from tulip_rose.rose.errors import LoadError

RowActivation = Callable[[Tensor], Tensor]


def identity(rows: Tensor) -> Tensor:
    """The rows as they are."""
    return rows


_BY_CLASS: dict[str, RowActivation] = {
    "Identity": identity,
    "Tanh": torch.tanh,
    "ReLU": torch.relu,
    "GELU": functional.gelu,
    "SiLU": functional.silu,
    "Sigmoid": torch.sigmoid,
    "ELU": functional.elu,
    "LeakyReLU": functional.leaky_relu,
    "Softplus": functional.softplus,
    "Mish": functional.mish,
}
_MODULES = ("torch.nn.", "torch.nn.modules.activation.", "torch.nn.modules.linear.")


def row_activation(name: str, where: str) -> RowActivation:
    """The function of a class of torch, with the settings that the class has by itself.

    Raises:
        LoadError: it is none of those that are known.
    """
    module, _, kind = name.rpartition(".")
    if f"{module}." not in _MODULES or kind not in _BY_CLASS:
        known = ", ".join(f"torch.nn.{each}" for each in _BY_CLASS)
        raise LoadError(f"{where}: activation_function {name!r} is not known; known are {known}")
    return _BY_CLASS[kind]
