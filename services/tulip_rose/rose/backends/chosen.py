"""`ChosenAttention`: each kind of layer attends with the backend that the table chooses for it on this GPU.

Kinds are met in the step that an engine runs when it is loaded, so a layer that cannot be served as asked stops the
start. Layers of one model may be of several kinds, and have several backends.
"""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Protocol

import torch
from torch import Tensor

from tulip_rose.rose.backends.asked import Asked
from tulip_rose.rose.backends.here import Here
from tulip_rose.rose.backends.needs import attention_needs
from tulip_rose.rose.backends.ragged_prefill import RaggedPrefill
from tulip_rose.rose.backends.table import AUTO, FA2, FA3, FLASH4, NAMES, VARLEN, choose_backend, doubt, unknown
from tulip_rose.rose.backends.varlen import flash_attention_4, torch_varlen
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.inputs import Ragged
from tulip_rose.rose.layers.attention import Attention, Mask, TorchAttention
from tulip_rose.rose.plan.memory import AttentionNeeds

log = logging.getLogger(__name__)


class Backend(Attention, Protocol):
    """An attention that not all batches suit."""

    def serves(self, mask: Mask, *, partly: bool) -> bool:
        """Whether it can attend over sequences of which all tokens are seen, or `partly` not."""


_OPEN: dict[str, Callable[[torch.device], Backend]] = {
    FLASH4: flash_attention_4,
    FA3: partial(RaggedPrefill, FA3),
    VARLEN: torch_varlen,
    FA2: partial(RaggedPrefill, FA2),
}


class ChosenAttention:
    """See `Attention`, `PlansAhead` and `Takes`.

    The name: of the backends of the layers met by now, in alphabetical order.
    """

    def __init__(self, name: str, device: torch.device, here: Here) -> None:
        """`name` is that of a backend, or auto.

        Raises:
            LoadError: there is no such backend.
        """
        if name not in (AUTO, *NAMES):
            raise unknown(name)
        self.name = self._asked_for = name
        self._device, self._here = device, here
        self._plain = TorchAttention()
        self._opened: dict[str, Backend] = {}
        self._by_kind: dict[Asked, Backend | None] = {}
        self._in_steps: list[tuple[Backend, Mask]] = []
        self._planned: list[RaggedPrefill] = []
        self._starts: Tensor | None = None

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, ragged: Ragged, mask: Mask, scale: float) -> Tensor:
        """See `Attention`.

        Raises:
            LoadError: the backend that was asked for cannot serve this layer, or none can.
        """
        asked = asked_of(q, k, mask, in_graph=ragged.seen is not None)
        if asked not in self._by_kind:
            self._by_kind[asked] = chosen = self._choose(asked)
            if asked.in_graph and chosen is not None:
                self._in_steps.append((chosen, mask))
            self.name = "+".join(sorted({(each or self._plain).name for each in self._by_kind.values()}))
        backend = self._by_kind[asked]
        if backend is not None and backend.serves(mask, partly=ragged.partly is not None):
            return backend(q, k, v, ragged, mask, scale)
        return self._plain(q, k, v, ragged, mask, scale)

    def plan_ahead(self, starts: Tensor) -> None:
        """See `PlansAhead`."""
        # Of the first step no layer has chosen yet.
        self._starts = starts
        for backend in self._planned:
            backend.plan_ahead(starts)

    def suits(self, *, partly: bool) -> bool:
        """See `PlansAhead`."""
        return all(backend.serves(mask, partly=partly) for backend, mask in self._in_steps)

    def needs(self, kinds: Iterable[Asked], sizes: int) -> AttentionNeeds:
        """See `Takes`."""
        return attention_needs(self._asked_for, kinds, self._here, sizes)

    def _choose(self, asked: Asked) -> Backend | None:
        """None stands for torch's plain attention."""
        choice = choose_backend(self._asked_for, asked, self._here)
        log.info("attention of %s: %s", asked, choice)
        if choice.name not in _OPEN:
            return None
        if choice.name not in self._opened:
            self._opened[choice.name] = self._open(choice.name)
        return self._opened[choice.name]

    def _open(self, name: str) -> Backend:
        if (said := doubt(name, self._here)) is not None:
            log.warning("attentionBackend %s: %s", name, said)
        try:
            backend = _OPEN[name](self._device)
        except ImportError as error:
            raise LoadError(f"attentionBackend {name} is installed and cannot be imported: {error}") from error
        if isinstance(backend, RaggedPrefill):
            self._planned.append(backend)
            if self._starts is not None:
                backend.plan_ahead(self._starts)
        return backend


def asked_of(q: Tensor, k: Tensor, mask: Mask, *, in_graph: bool) -> Asked:
    """What a layer asks: q [T, heads, size], k [T, kv_heads, size]."""
    left, right = mask.window or (None, None)
    return Asked(
        heads=q.shape[1],
        kv_heads=k.shape[1],
        size=q.shape[2],
        dtype=str(q.dtype).removeprefix("torch."),
        left=left,
        right=0 if mask.causal else right,
        bias=mask.bias is not None,
        in_graph=in_graph,
    )
