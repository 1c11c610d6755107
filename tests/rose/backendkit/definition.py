"""Attention over ragged sequences written out, with the words of the libraries: in float64, a query at a time."""

from itertools import pairwise

import torch
from torch import Tensor


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    starts: list[int],
    *,
    scale: float,
    left: int | None = None,
    right: int | None = None,
    seen: list[int] | None = None,
    longest: int | None = None,
) -> Tensor:
    """[T, heads, size], [T, kv_heads, size] twice, to [T, heads, size]; rows that no sequence owns are NaN.

    So are those of a sequence beyond the longest that there is said to be: kernels have no block for them.

    As in FlashAttention, the last key that is seen lies under the last query.
    """
    share = q.shape[1] // k.shape[1]
    k, v = (x.double().repeat_interleave(share, 1) for x in (k, v))
    out = torch.full(q.shape, float("nan"), dtype=torch.float64)
    for index, (begin, end) in enumerate(pairwise(starts)):
        keys = end - begin if seen is None else seen[index]
        shift = keys - (end - begin)
        for query in range(begin, end if longest is None else min(end, begin + longest)):
            at = query - begin + shift
            low = 0 if left is None else max(0, at - left)
            high = keys if right is None else min(keys, at + right + 1)
            logits = torch.einsum("hd,jhd->hj", q[query].double(), k[begin + low : begin + high]) * scale
            out[query] = torch.einsum("hj,jhd->hd", logits.softmax(-1), v[begin + low : begin + high])
    return out.to(q.dtype)
