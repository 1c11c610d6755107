"""`Within`: a base model in the checkpoint of a class that puts a head on it, where the head is not wanted."""

from dataclasses import dataclass

import torch

from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.models.model import Config, Model, ModelType
from tulip_rose.rose.weights import Weights


@dataclass(frozen=True, slots=True)
class Within:
    """See `ModelType`."""

    base: ModelType
    head: str
    """Matches the whole names of the head's tensors."""

    @property
    def prefix(self) -> str:
        """See `ModelType`."""
        return self.base.prefix

    def __call__(self, config: Config, weights: Weights, kit: Kit, device: torch.device) -> Model:
        """See `ModelType`."""
        weights.forget(self.head)
        return self.base(config, weights, kit, device)
