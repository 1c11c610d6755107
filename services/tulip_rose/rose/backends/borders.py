"""`Borders`: where sequences begin and end, as kernels over ragged tensors read it on the device."""

from dataclasses import dataclass

import torch
from torch import Tensor

from tulip_rose.rose.inputs import Ragged


@dataclass(frozen=True, slots=True)
class Borders:
    """Of the sequences of one batch."""

    starts: Tensor
    """int32 [S + 1], on the device."""
    seen: Tensor | None
    """int32 [S], on the device: how many tokens of each are seen, the first ones; None: all of all."""
    limit: int
    """No sequence has more rows, that of pads neither, since kernels write no row beyond it. A power of two: they have
    it built into their grids, so that few differ."""

    @classmethod
    def of(cls, ragged: Ragged, device: torch.device) -> "Borders":
        """Brought to the device, where they are not there."""
        load, seen = ragged.load or (lambda tensor: tensor.to(device)), _seen(ragged)
        on_device = None if seen is None else load(seen)
        return cls(load(ragged.starts), on_device, limit(max(ragged.longest, ragged.pads)))


def limit(longest: int) -> int:
    """The power of two that is not below."""
    return 1 << max(longest - 1, 0).bit_length()


class LastBorders:
    """The borders of the batch that is computed, copied once for all of its layers."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._ragged: Ragged | None = None
        self._borders: Borders | None = None

    def of(self, ragged: Ragged) -> Borders:
        """See `Borders`."""
        if self._borders is None or ragged is not self._ragged:
            self._ragged, self._borders = ragged, Borders.of(ragged, self._device)
        return self._borders


def _seen(ragged: Ragged) -> Tensor | None:
    return ragged.seen if ragged.partly is None else torch.from_numpy(ragged.partly)
