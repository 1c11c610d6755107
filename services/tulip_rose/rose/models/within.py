"""`Within`: a base model in the checkpoint of a class that puts a head on it, where the head is not wanted."""

import torch

from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.models.model import Config, Model, ModelType
from tulip_rose.rose.weights import Weights


class Within:
    """See `ModelType`."""

    def __init__(self, base: ModelType, head: str, prefix: str | None = None) -> None:
        """Take the type of the base model, a pattern of the whole names of the head's tensors, and another prefix."""
        self.prefix = base.prefix if prefix is None else prefix
        self._base, self._head = base, head

    def __call__(self, config: Config, weights: Weights, kit: Kit, device: torch.device) -> Model:
        """See `ModelType`."""
        weights.forget(self._head)
        return self._base(config, weights, kit, device)
