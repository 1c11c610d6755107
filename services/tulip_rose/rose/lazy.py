"""`LazyTensor`: a result on its way. `Rows`: the result when it is there."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from tulip_rose.sequence import Output


@dataclass(slots=True, eq=False)
class Part:
    """Rows of one output form, in order of slot, in host memory."""

    rows: NDArray[Any]
    """[rows, values or packed bytes]; of unequal size: their bytes, one after the other. Zeros where a row is not
    finite."""
    finite: NDArray[np.bool_]
    starts: NDArray[np.int64] | None = None
    """[rows + 1]: where each row begins and the last one ends, where they are of unequal size."""

    def slice(self, first: int, count: int) -> NDArray[Any]:
        """Some neighbours of the rows."""
        if self.starts is None:
            return self.rows[first : first + count]
        return self.rows[self.starts[first] : self.starts[first + count]]

    def failed(self, first: int, count: int) -> tuple[int, ...]:
        """Which of some neighbours are not finite, counted from the first of them."""
        if count == 1:
            return () if self.finite.item(first) else (0,)
        finite = self.finite[first : first + count]
        return () if finite.all() else tuple(np.flatnonzero(~finite).tolist())

    def output(self, first: int, count: int) -> Output:
        """Some neighbours, as a sequence is given them."""
        return Output(self.slice(first, count).tobytes(), self.failed(first, count))


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows of one want of a sequence stand."""

    part: int
    first: int
    count: int


Places = Sequence[tuple[Place, ...]]
"""Of each sequence: one a want."""

Order = NDArray[np.int64] | None
"""Which of the caller's sequences lies in each slot; None where there is one alone."""


def slots_of(order: Order) -> Sequence[int]:
    """In which slot each sequence lies."""
    if order is None:
        return (0,)
    slots = np.empty_like(order)
    slots[order] = np.arange(order.shape[0])
    found: list[int] = slots.tolist()
    return found


class Single(Sequence[tuple[Place, ...]]):
    """Places of sequences that have one want of one row, all of one form: as nearly all have."""

    def __init__(self, order: Order) -> None:
        self._order = order

    def __repr__(self) -> str:
        return f"Single({self.slots})"

    def __len__(self) -> int:
        return 1 if self._order is None else len(self._order)

    @cached_property
    def slots(self) -> Sequence[int]:
        """The slot of each sequence. Made when the first row is cut, which the engine's thread never does."""
        return slots_of(self._order)

    @overload
    def __getitem__(self, index: int) -> tuple[Place, ...]: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[tuple[Place, ...]]: ...

    def __getitem__(self, index: int | slice) -> tuple[Place, ...] | Sequence[tuple[Place, ...]]:
        if isinstance(index, slice):
            return [(Place(0, slot, 1),) for slot in self.slots[index]]
        return (Place(0, self.slots[index], 1),)


@dataclass(slots=True, eq=False)
class Rows:
    """What a step made, by the caller's order of sequences."""

    parts: tuple[Part, ...]
    places: Places

    def of(self, sequence: int, want: int = 0) -> NDArray[Any]:
        """The rows of one want of a sequence."""
        place = self.places[sequence][want]
        return self.parts[place.part].slice(place.first, place.count)

    def failed(self, sequence: int, want: int = 0) -> tuple[int, ...]:
        """Which rows of one want of a sequence are not finite."""
        place = self.places[sequence][want]
        return self.parts[place.part].failed(place.first, place.count)

    def outputs_of(self, sequence: int) -> tuple[Output, ...]:
        """Of one sequence what it is given, one a want."""
        if isinstance(self.places, Single):
            return (self.parts[0].output(self.places.slots[sequence], 1),)
        return tuple([self.parts[place.part].output(place.first, place.count) for place in self.places[sequence]])

    def array(self) -> NDArray[Any]:
        """All rows in the caller's order.

        Raises:
            ValueError: the batch mixed output forms; ask for each sequence with `of`.
        """
        if len(self.parts) != 1:
            raise ValueError("the batch mixed output forms; ask for each sequence with `of`")
        return np.concatenate([self.of(index) for index in range(len(self.places))])


class _Launched(Protocol):
    came: float

    def reached(self) -> bool: ...

    def wait(self, timeout_s: float | None) -> tuple[Part, ...]: ...


class LazyTensor:
    """A launched step. Ask with `ready`, get with `wait`; both as often as wanted and from any thread."""

    def __init__(self, launched: _Launched, places: Places) -> None:
        self._launched = launched
        self._places = places

    def ready(self) -> bool:
        """Whether `wait` would not block."""
        return self._launched.reached()

    @property
    def came(self) -> float:
        """When the device had made it, in `time.monotonic()` seconds; once `wait` has returned."""
        return self._launched.came

    def wait(self, timeout_s: float | None = None) -> Rows:
        """The rows, when the device has made them.

        Raises:
            TimeoutError: not within `timeout_s` seconds.
            StepError: the step failed.
            EngineDeadError: the device can do nothing more.
        """
        return Rows(self._launched.wait(timeout_s), self._places)
