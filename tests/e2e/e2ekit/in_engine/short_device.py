"""A device that is slow with one size, cannot capture another and has no room for a third, in an engine of a pod."""

import time
from functools import partial

import torch
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.graphs.device import CaptureError, Graph, Step

SLOW, NOT_CAPTURED, NO_ROOM = 2048, 192, 256
"""Tokens of those sizes, pads counted."""
SLOW_S = 35.0
"""Longer than a liveness probe lets an engine be without an answer."""


class ShortDevice(CpuGraphDevice):
    """See `GraphDevice`."""

    def capture(self, step: Step) -> Graph:
        """See `GraphDevice`."""
        if _tokens(step) == NOT_CAPTURED:
            raise CaptureError("operation not permitted when stream is capturing")
        if _tokens(step) == SLOW:
            time.sleep(SLOW_S)
        return super().capture(step)

    def run(self, step: Step) -> None:
        """See `GraphDevice`."""
        if _tokens(step) == NO_ROOM:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        super().run(step)


def _tokens(step: Step) -> int:
    """Of a step over a frame; 0 of what runs behind one."""
    return int(step.args[0].inputs.token_ids.shape[0]) if isinstance(step, partial) else 0
