"""From token states to rows: cls, mean or last token of each span, in float32."""

import torch
from torch import Tensor

from tulip_rose.rose.batch import Group
from tulip_rose.rose.facts import Pooling


def pool(states: Tensor, spans: tuple[Group, ...], pooling: Pooling) -> Tensor:
    """Pool each span into one row.

    Args:
        states: [T, H], of any floating type.
        spans: R spans in all.
        pooling: which token, or their mean.

    Returns:
        float32 [R, H].
    """
    rows = [_pool_group(states, group, pooling) for group in spans]
    return rows[0] if len(rows) == 1 else torch.cat(rows)


def _pool_group(states: Tensor, group: Group, pooling: Pooling) -> Tensor:
    tokens = states[group.begin : group.end].view(group.count, group.length, states.shape[1])
    if pooling is Pooling.MEAN:
        return tokens.mean(1, dtype=torch.float32)
    return tokens[:, 0 if pooling is Pooling.CLS else -1].float()
