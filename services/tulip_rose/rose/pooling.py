"""From token states to rows: the states of each span pooled, in float32."""

from collections.abc import Callable

import torch
from torch import Tensor

from tulip_rose.rose.inputs import Group
from tulip_rose.rose.pooling_words import Pooling, Poolings


def pool(states: Tensor, spans: tuple[Group, ...], poolings: Poolings, positions: Tensor) -> Tensor:
    """Pool each span into one row.

    Args:
        states: [T, H], of any floating type.
        spans: R spans in all.
        poolings: P of them, whose rows lie beside each other.
        positions: int64 [T], of each token within its sequence.

    Returns:
        float32 [R, P · H].
    """
    rows = [_pool_group(states, group, poolings, positions) for group in spans]
    return rows[0] if len(rows) == 1 else torch.cat(rows)


def _pool_group(states: Tensor, group: Group, poolings: Poolings, positions: Tensor) -> Tensor:
    tokens = states[group.begin : group.end].view(group.count, group.length, states.shape[1])
    places = positions[group.begin : group.end].view(group.count, group.length)
    rows = [_POOLS[pooling](tokens, places) for pooling in poolings]
    return rows[0] if len(rows) == 1 else torch.cat(rows, dim=1)


def _weighted_mean(tokens: Tensor, places: Tensor) -> Tensor:
    """A span that begins late has the weights that its tokens have in the sequence, not those of a text of its own.

    A product of matrices would be shorter, and would lose a digit over thousands of tokens.
    """
    weights = (places + 1).float()[:, :, None]
    return (tokens.float() * weights).sum(1) / weights.sum(1)


_POOLS: dict[Pooling, Callable[[Tensor, Tensor], Tensor]] = {
    Pooling.CLS: lambda tokens, _: tokens[:, 0].float(),
    Pooling.LAST_TOKEN: lambda tokens, _: tokens[:, -1].float(),
    Pooling.MEAN: lambda tokens, _: tokens.mean(1, dtype=torch.float32),
    Pooling.MAX: lambda tokens, _: tokens.amax(1).float(),
    Pooling.WEIGHTED_MEAN: _weighted_mean,
    Pooling.MEAN_SQRT_LENGTH: lambda tokens, _: tokens.sum(1, dtype=torch.float32) / tokens.shape[1] ** 0.5,
}
