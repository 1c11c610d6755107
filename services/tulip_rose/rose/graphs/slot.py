"""`Slot`: pinned memory of one step in flight, what goes in and what comes out; `Tray`: the views of one key in it.

Views cost about as much as all else that the host does for a step, so those of a key with a graph are kept.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from tulip_rose.rose import lazy
from tulip_rose.rose.graphs.arena import Frame, Out, Widths
from tulip_rose.rose.graphs.device import GraphDevice
from tulip_rose.rose.graphs.growing import Growing
from tulip_rose.rose.graphs.key import Buckets, Key
from tulip_rose.rose.graphs.layout import given_bytes, out_bytes
from tulip_rose.rose.graphs.sheet import Sheet
from tulip_rose.rose.inputs import Load, Part


class Tray:
    """Of one key in one slot, and the frame that it is copied into."""

    def __init__(self, slot: "Slot", key: Key, frame: Frame, *, typed: bool) -> None:
        self.given = slot.given[: frame.given.shape[0]]
        """uint8: the source of the copy in."""
        self.rows = None if frame.rows is None else TrayRows(slot.out, key.slots, *frame.rows)
        self.sheet = Sheet(slot.host, key, pooled=self.rows is not None, typed=typed)
        self.starts = torch.from_numpy(self.sheet.fields.cu_seqlens)
        """int32 [slots + 1]: where the sequences begin that were written last."""


class TrayRows:
    """Rows of one form that come out of a frame."""

    def __init__(self, memory: Tensor, slots: int, part: Part, source: Out) -> None:
        self._source, self._target = source, Out.of(memory, part.form, slots)
        self._slots = slots
        self._rows, self._finite = self._target.rows.numpy(), self._target.finite.numpy()
        self._copies: dict[int, tuple[Tensor, Tensor]] = {}

    def copy(self, count: int) -> tuple[Tensor, Tensor]:
        """Target and source of a copy of so many rows, or some more: of few sizes, so that all can be kept."""
        most = min(1 << (count - 1).bit_length(), self._slots)
        if most not in self._copies:
            size = self._target.bytes_of(most)
            self._copies[most] = self._target.whole[:size], self._source.whole[:size]
        return self._copies[most]

    def take(self, count: int) -> lazy.Part:
        """Those that came out, in memory of their own."""
        return lazy.Part(self._rows[:count].copy(), self._finite[:count].copy())


class Slot:
    """For every key that there can be."""

    def __init__(self, device: GraphDevice, buckets: Buckets, widths: Widths) -> None:
        largest = Key(buckets.most_rows, buckets.slots[-1])
        self.given = device.empty(given_bytes(largest), torch.uint8, pinned=True)
        self.out = device.empty(out_bytes(largest.slots, widths.dimensions), torch.uint8, pinned=True)
        self.host = self.given.numpy()
        self._device = device
        self._bounds, self._results = Growing(device), Growing(device)
        self._typed = widths.typed
        self._kept: dict[Key, Tray] = {}

    def tray(self, key: Key, frame: Frame, *, keep: bool) -> Tray:
        """The views of a key; they are kept until it is dropped, where they should be."""
        tray = self._kept.get(key)
        if tray is None:
            tray = Tray(self, key, frame, typed=self._typed)
            if keep:
                self._kept[key] = tray
        return tray

    def drop(self, key: Key) -> None:
        """Forget the views of a key."""
        self._kept.pop(key, None)

    def results(self) -> Callable[[Tensor], Tensor]:
        """What copies the results of one step here that heads behind it make, one after the other."""
        places = self._results.places()

        def unload(result: Tensor) -> Tensor:
            host = next(places)(result)
            self._device.unload(host, result)
            return host

        return unload

    def loads(self) -> Load:
        """What brings bounds of one step to the device that heads behind it read, one after the other."""
        places = self._bounds.places()

        def load(bounds: Tensor) -> Tensor:
            host = next(places)(bounds)
            host.copy_(bounds)
            return self._device.beside(host)

        return load
