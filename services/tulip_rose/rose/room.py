"""`Room`: whether a model and its graphs fit on a device, asked before weights are loaded and before buffers are.

How long the longest input is shows only when the model is there: what is asked first is whether anything fits at all.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

import torch

from tulip_rose.rose.backends.ahead import Takes
from tulip_rose.rose.backends.asked import Asked
from tulip_rose.rose.card import ModelCard
from tulip_rose.rose.cuda import free_bytes, used_bytes
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.graphs.key import Buckets
from tulip_rose.rose.layers.attention import Attention
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.options import EngineOptions
from tulip_rose.rose.plan.heads import Needy
from tulip_rose.rose.plan.memory import (
    WEIGHTS,
    AttentionNeeds,
    Memory,
    Needs,
    Shape,
    fit_memory,
    heads_of,
    plan_memory,
)
from tulip_rose.rose.weights import Weights

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Room:
    """What one model takes of one device."""

    needs: Needs
    device: torch.device
    kinds: tuple[Asked, ...] = ()
    """Of layers that attend, in a graph."""

    @classmethod
    def of(cls, config: Config, weights: Weights, options: EngineOptions, device: torch.device) -> "Room":
        """Read the sizes; of the weights no value is read.

        Raises:
            LoadError: a size is missing from the config, or those of the graphs make no sense.
        """
        shape = Shape.of(config.values, config.where)
        dtype: torch.dtype = getattr(torch, options.dtype)
        graphs = options.graphs
        try:
            buckets = Buckets(graphs.multiple, graphs.slots, graphs.most_tokens)
        except ValueError as error:
            raise LoadError(f"graphs: {error}") from error
        taken = weights.count_values() * dtype.itemsize
        needs = Needs(taken, shape, dtype.itemsize, shape.hidden, buckets, graphs.most)
        return cls(needs, device, _kinds(config, options.dtype))

    def check_any(self) -> None:
        """Ask whether there is room for the weights and for the smallest batches.

        Raises:
            LoadError: there is not; says what it takes.
        """
        free = free_bytes(self.device)
        if free is not None:
            least = replace(self.needs.buckets, most_tokens=1)
            fit_memory(replace(self.needs, buckets=least, graphs=1), free, 1)

    def check_all(self, card: ModelCard, attention: Attention, heads: Iterable[Needy]) -> Memory:
        """Ask whether there is room for everything, once the weights are loaded.

        Raises:
            LoadError: there is not; says what it takes, and what would fit.
        """
        buckets = replace(self.needs.buckets, most_tokens=max(self.needs.buckets.most_tokens, card.max_input_tokens))
        taken = attention.needs(self.kinds, buckets.sizes) if isinstance(attention, Takes) else AttentionNeeds()
        needs = replace(self.needs, buckets=buckets, dimensions=card.dimensions, attention=taken, heads=tuple(heads))
        free = free_bytes(self.device)
        if free is None:
            plan = plan_memory(needs)
        else:
            plan = fit_memory(needs, free + plan_memory(needs).device[WEIGHTS], card.max_input_tokens)
        log.info("memory: %s", plan)
        return Memory(plan.parts, partial(used_bytes, self.device))


def _kinds(config: Config, dtype: str) -> tuple[Asked, ...]:
    """What layers ask: those that see a whole text, and where there are windows those that see one."""
    values = config.values
    heads, keys, size = heads_of(values, config.where)
    whole = Asked(heads, keys, size, dtype, left=None, right=None, bias=False, in_graph=True)
    window = values.get("local_attention") or (values.get("use_sliding_window", True) and values.get("sliding_window"))
    if not window:
        return (whole,)
    both_sides = "local_attention" in values or values.get("use_bidirectional_attention", False)
    return whole, replace(whole, left=window, right=window if both_sides else 0)
