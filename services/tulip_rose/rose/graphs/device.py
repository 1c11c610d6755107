"""`GraphDevice`: a device with a stream, events, pinned memory, and graphs of recorded steps.

What is asked for is done later, in order, and nothing waits but `Event.wait`. Memory is taken when an engine is loaded
and when it meets a key for the first time, never in a step that it has warmed up for.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from tulip_rose.rose.device import Device
from tulip_rose.rose.errors import RoseError

Step = Callable[[], None]
"""Reads static buffers and writes static buffers."""


class CaptureError(RoseError):
    """A step cannot be captured; it can still run eagerly."""


class Event(Protocol):
    """A place in the stream."""

    def reached(self) -> bool:
        """Whether everything before it is done."""

    def wait(self, timeout_s: float | None) -> None:
        """Wait until everything before it is done; as often as wanted and from any thread.

        Raises:
            TimeoutError: not within `timeout_s` seconds.
            StepError: something since the event before failed.
            EngineDeadError: the device can do nothing more.
        """


class Graph(Protocol):
    """A captured step. Its memory is given back with it, and not before a replay that is on the stream is done."""

    def replay(self) -> None:
        """Do the step again, on whatever its static buffers hold by then."""


@runtime_checkable
class GraphDevice(Device, Protocol):
    """One stream. Used by one thread, but for events.

    Everything that is put on the stream may raise what a device raises; `failures` says what that means, and `gone`
    whether the device goes on.
    """

    heads_in_graphs: bool
    """Whether dense heads of its kit read spans from a tensor when they run, so that a graph can hold them."""

    def empty(self, count: int, dtype: torch.dtype, *, pinned: bool = False) -> Tensor:
        """Memory of the device, or of the host that the device can read and write by itself: [count]."""

    def copy(self, target: Tensor, source: Tensor) -> None:
        """Copy between the device and pinned memory; the source is read when the stream gets there."""

    def unload(self, target: Tensor, source: Tensor) -> None:
        """Called by a step: copy its result to pinned memory, as it is when the stream gets there."""

    def beside(self, source: Tensor) -> Tensor:
        """Called by a step: a copy of pinned memory where states are; the source is read when the stream gets there."""

    def prepare(self, work: Step) -> None:
        """Put on the stream what the host does for the next step; it is never captured."""

    def run(self, step: Step) -> None:
        """Put a step on the stream."""

    def capture(self, step: Step) -> Graph:
        """Record a step without doing it.

        Raises:
            CaptureError: it cannot be recorded; the device is as it was.
        """

    def gone(self) -> str | None:
        """Why the device can do nothing more; None while it can. Asked when something failed."""

    def mark(self) -> Event:
        """An event behind everything that is on the stream by now."""
