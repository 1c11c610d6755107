"""Rings of FlashInfer's wrappers: each plans a batch on the host, once for all layers of one kind.

Planning writes pinned memory that the device copies when its stream gets there. So a wrapper is planned again only when
the step that it was planned for is over: steps take the wrappers of a ring in turn, one more than can be in flight.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from typing import Protocol

import torch
from torch import Tensor

from tulip_rose.rose.inputs import Ragged

DEPTH = 3
"""Steps in flight, and one more."""
_EVERYTHING = -1
"""How the library says that there is no window."""


class Wrapper(Protocol):
    """What is used of `flashinfer.BatchPrefillWithRaggedKVCacheWrapper`."""

    def plan(
        self,
        qo_indptr: Tensor,
        kv_indptr: Tensor,
        num_qo_heads: int,
        num_kv_heads: int,
        head_dim_qk: int,
        *,
        causal: bool,
        window_left: int,
        sm_scale: float,
        q_data_type: torch.dtype,
        disable_split_kv: bool,
    ) -> None:
        """Lay the work of a batch out; offsets are int32 on the host."""

    def run(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attend as planned: [T, heads, size]; T is exactly the last offset."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What layers that can share a plan have in common."""

    heads: int
    kv_heads: int
    size: int
    """One of those that the library has."""
    causal: bool
    left: int | None
    """Tokens before a query that are seen; None: all."""
    scale: float
    dtype: torch.dtype


class Wrappers:
    """Used by one thread."""

    def __init__(self, make: Callable[[], Wrapper]) -> None:
        """`make` gives another wrapper; it takes memory that is not given back."""
        self._make = make
        self._rings: dict[Kind, Iterator[Wrapper]] = {}
        self._ragged: Ragged | None = None
        self._planned: dict[Kind, Wrapper] = {}

    def planned(self, ragged: Ragged, kind: Kind) -> Wrapper:
        """A wrapper that is planned for these sequences: planned at the first layer, and found at the others."""
        if ragged is not self._ragged:
            self._ragged, self._planned = ragged, {}
        if kind not in self._planned:
            wrapper = self._next(kind)
            plan(wrapper, ragged.starts, kind)
            self._planned[kind] = wrapper
        return self._planned[kind]

    def _next(self, kind: Kind) -> Wrapper:
        if kind not in self._rings:
            self._rings[kind] = cycle([self._make() for _ in range(DEPTH)])
        return next(self._rings[kind])


def plan(wrapper: Wrapper, starts: Tensor, kind: Kind) -> None:
    """Lay the work of a batch out; `starts` is int32 [S + 1], on the host, where planning reads it."""
    wrapper.plan(
        starts,
        starts,
        kind.heads,
        kind.kv_heads,
        kind.size,
        causal=kind.causal,
        window_left=_EVERYTHING if kind.left is None else kind.left,
        sm_scale=kind.scale,
        # The library takes float16 where nobody tells it.
        q_data_type=kind.dtype,
        # How the keys of one text were split among blocks would depend on its neighbours.
        disable_split_kv=True,
    )
