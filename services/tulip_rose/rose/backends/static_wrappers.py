"""FlashInfer's wrappers for steps over static buffers: one for each size of a step and each kind of layer.

A graph reads what the planning of its batch has left in memory of the device, so each step is planned on the host
before it is put on the stream, replays included; planning itself is never captured. Where things lie there, and how
many blocks the kernels have, depends on a step's size and on nothing else, since rows and slots are always full. So a
wrapper that was dropped and made again serves a graph that was captured with the one before, as long as the memory is
the same: it is shared by all sizes, and never given back.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from tulip_rose.rose.backends.needs import LAYOUT_BYTES, MOST_SIZES
from tulip_rose.rose.backends.wrappers import Kind, Wrapper, plan
from tulip_rose.rose.inputs import Ragged


class Fence(Protocol):
    """A place in the stream; what is used of `torch.cuda.Event`."""

    def record(self) -> None:
        """Put it behind everything that is on the stream by now."""

    def synchronize(self) -> None:
        """Wait until the stream has passed it; at once where it was never recorded."""


class Passed:
    """The fence of a device that does everything at once."""

    def record(self) -> None:
        """See `Fence`."""

    def synchronize(self) -> None:
        """See `Fence`."""


@dataclass(frozen=True, slots=True)
class _Held:
    wrapper: Wrapper
    copied: Fence
    """Behind the copies from the pinned memory that planning writes. The next planning waits for it, and not for the
    step: at most one step is in flight by then, and its copies come first, so that the wait is short."""


class MakeStatic(Protocol):
    """Makes another wrapper over memory that is there."""

    def __call__(self, starts: Tensor, layout: Tensor) -> Wrapper:
        """`starts` is int32 [slots + 1], `layout` uint8, both on the device."""


class StaticWrappers:
    """Used by one thread, on one stream."""

    def __init__(self, make: MakeStatic, fence: Callable[[], Fence], device: torch.device) -> None:
        self._make, self._fence, self._device = make, fence, device
        self._sizes: OrderedDict[tuple[int, int], dict[Kind, _Held]] = OrderedDict()
        self._layouts: dict[Kind, Tensor] = {}
        self._starts: dict[int, Tensor] = {}
        self._next: Tensor | None = None

    def plan(self, starts: Tensor) -> None:
        """Lay out the step that is put on the stream next: int32 [slots + 1], on the host, padded; it is read later."""
        self._next = starts
        size = _size(starts)
        if size not in self._sizes:
            self._make_room()
        held = self._sizes.setdefault(size, {})
        self._sizes.move_to_end(size)
        for kind in self._layouts:
            self._plan(held, kind, starts)

    def of(self, ragged: Ragged, kind: Kind) -> Wrapper:
        """The wrapper that is planned for the step under way.

        A layer that attends for the first time is planned here; that is in the first step of a model, which is never
        captured.

        Raises:
            RuntimeError: the step was not planned.
        """
        rows, slots = ragged.tokens, ragged.starts.shape[0] - 1
        if self._next is None or _size(self._next) != (rows, slots):
            raise RuntimeError(f"a step of {rows} rows and {slots} slots attends, and was not planned")
        held = self._sizes[rows, slots]
        if kind not in held:
            self._layouts[kind] = torch.empty(LAYOUT_BYTES, dtype=torch.uint8, device=self._device)
            self._plan(held, kind, self._next)
        return held[kind].wrapper

    def _plan(self, held: dict[Kind, _Held], kind: Kind, starts: Tensor) -> None:
        if kind not in held:
            wrapper = self._make(self._static(starts.shape[0]), self._layouts[kind])
            held[kind] = _Held(wrapper, self._fence())
        one = held[kind]
        one.copied.synchronize()
        plan(one.wrapper, starts, kind)
        one.copied.record()

    def _static(self, count: int) -> Tensor:
        """Where kernels read offsets, of all steps of so many slots."""
        if count not in self._starts:
            self._starts[count] = torch.empty(count, dtype=torch.int32, device=self._device)
        return self._starts[count]

    def _make_room(self) -> None:
        """Drop the wrappers of the size whose last step is longest ago; their pinned memory is used again."""
        if len(self._sizes) < MOST_SIZES:
            return
        _, dropped = self._sizes.popitem(last=False)
        for one in dropped.values():
            one.copied.synchronize()


def _size(starts: Tensor) -> tuple[int, int]:
    """Rows and slots."""
    return int(starts[-1]), starts.shape[0] - 1
