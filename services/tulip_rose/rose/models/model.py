"""What an architecture is to the engine."""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.inputs import Inputs
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.weights import Weights


class Model(Protocol):
    """A loaded architecture: packed ids in, token states out."""

    hidden_size: int
    vocabulary_size: int
    positions: int
    """Longest sequence that it can take."""
    token_types: int
    """Types of tokens that it tells apart; where it tells none apart, 0 or 1, it takes any."""

    def __call__(self, inputs: Inputs) -> Tensor:
        """States of all tokens, [T, hidden_size], in the dtype of the model."""


class ModelType(Protocol):
    """How an architecture is loaded."""

    prefix: str
    """Before tensor names in checkpoints that wrap the base model."""

    def __call__(self, config: "Config", weights: Weights, kit: Kit, device: torch.device) -> Model:
        """Take every tensor from `weights` and lay it out for the device."""


@dataclass(frozen=True, slots=True)
class Config:
    """`config.json`, read with errors that name the key."""

    values: dict[str, Any]
    where: str

    def spelling(self, *keys: str) -> str:
        """Which of several spellings of one key is there; the first where none is."""
        return next((key for key in keys if key in self.values), keys[0])

    def integer(self, key: str, default: int | None = None) -> int:
        """A whole number above 0; `default` where the key is absent.

        Raises:
            LoadError: missing and without default, or something else.
        """
        value = self.values.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise LoadError(f"{self.where}: {key} is {value!r}, a whole number above 0 was expected")
        return value

    def number(self, key: str, default: float) -> float:
        """A number; `default` where the key is absent.

        Raises:
            LoadError: something else than a number.
        """
        value = self.values.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise LoadError(f"{self.where}: {key} is {value!r}, a number was expected")
        return float(value)

    def demand(self, key: str, *allowed: Any) -> Any:
        """A value that has to be one of `allowed`, or absent (then the first).

        Raises:
            LoadError: any other value: the architecture would compute something else.
        """
        value = self.values.get(key, allowed[0])
        if value not in allowed:
            raise LoadError(
                f"{self.where}: {key} {value!r} is not supported; known are {', '.join(map(repr, allowed))}"
            )
        return value
