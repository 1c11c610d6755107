"""FlashInfer's ragged prefill as a backend: FlashAttention 3 and 2."""

from functools import partial
from importlib import import_module
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from tulip_rose.rose.backends.needs import WORKSPACE_BYTES
from tulip_rose.rose.backends.static_wrappers import Fence, Passed, StaticWrappers
from tulip_rose.rose.backends.table import FA2, FA3
from tulip_rose.rose.backends.wrappers import Kind, Wrapper, Wrappers
from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.layers.attention import Mask

_SIZES = (64, 128, 256)
"""Of heads that both have kernels for."""
_BACKENDS = {FA3: "fa3", FA2: "fa2"}
"""In the library's words."""
_LAYOUT = "NHD"


class RaggedPrefill:
    """See `Attention`."""

    def __init__(self, name: str, device: torch.device) -> None:
        """`name` is FA3 or FA2.

        Raises:
            ImportError: the library cannot be imported.
        """
        self.name = name
        self._made = import_module("flashinfer").BatchPrefillWithRaggedKVCacheWrapper
        self._workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=device)
        self._wrappers = Wrappers(partial(self._made, self._workspace, _LAYOUT, backend=_BACKENDS[name]))
        self._static = StaticWrappers(self._make_static, partial(_fence, device), device)

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, ragged: Ragged, mask: Mask, scale: float) -> Tensor:
        """See `Attention`; all tokens are seen."""
        tokens, heads, size = q.shape
        kind = kind_of(q, k, mask, scale)
        wrapper = self._wrappers.planned(ragged, kind) if ragged.seen is None else self._static.of(ragged, kind)
        whole = wrapper.run(*(_widened(x[: ragged.tokens], kind.size) for x in (q, k, v)))
        if tokens == ragged.tokens and size == kind.size:
            return whole.flatten(1)
        out = q.new_zeros(tokens, heads, size)
        out[: ragged.tokens] = whole[..., :size]
        return out.flatten(1)

    @staticmethod
    def serves(mask: Mask, *, partly: bool) -> bool:
        """Whether it can: the keys of a text are all those between its offsets."""
        return not partly

    def plan_ahead(self, starts: Tensor) -> None:
        """See `PlansAhead`."""
        self._static.plan(starts)

    def _make_static(self, starts: Tensor, layout: Tensor) -> Wrapper:
        """See `MakeStatic`."""
        borders = {"qo_indptr_buf": starts, "kv_indptr_buf": starts}
        made: Any = self._made(self._workspace, _LAYOUT, use_cuda_graph=True, backend=_BACKENDS[self.name], **borders)
        made.reset_workspace_buffer(self._workspace, layout)
        wrapper: Wrapper = made
        return wrapper


def kind_of(q: Tensor, k: Tensor, mask: Mask, scale: float) -> Kind:
    """What a layer's plan is of; a window that ends at the query is causal."""
    left, right = mask.window or (None, None)
    size = next(size for size in _SIZES if size >= q.shape[2])
    return Kind(q.shape[1], k.shape[1], size, mask.causal or right == 0, left, scale, q.dtype)


def _fence(device: torch.device) -> Fence:
    return torch.cuda.Event() if device.type == "cuda" else Passed()


def _widened(x: Tensor, size: int) -> Tensor:
    """Heads of that size: zeros behind, which add nothing to logits and are nothing in the result."""
    return x if x.shape[2] == size else pad(x, (0, size - x.shape[2]))
