"""`LazyTensor`: a result on its way. `Rows`: the result when it is there."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rows of one want of a sequence stand."""

    part: int
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Rows:
    """What a step made, by the caller's order of sequences."""

    parts: tuple[Part, ...]
    places: tuple[tuple[Place, ...], ...]
    """Of each sequence: one a want."""

    def of(self, sequence: int, want: int = 0) -> NDArray[Any]:
        """The rows of one want of a sequence."""
        place = self.places[sequence][want]
        return self.parts[place.part].slice(place.first, place.count)

    def failed(self, sequence: int, want: int = 0) -> tuple[int, ...]:
        """Which rows of one want of a sequence are not finite."""
        place = self.places[sequence][want]
        finite = self.parts[place.part].finite[place.first : place.first + place.count]
        return () if finite.all() else tuple(np.flatnonzero(~finite).tolist())

    def array(self) -> NDArray[Any]:
        """All rows in the caller's order.

        Raises:
            ValueError: the batch mixed output forms; ask for each sequence with `of`.
        """
        if len(self.parts) != 1:
            raise ValueError("the batch mixed output forms; ask for each sequence with `of`")
        return np.concatenate([self.of(index) for index in range(len(self.places))])


class _Launched(Protocol):
    def reached(self) -> bool: ...

    def wait(self, timeout_s: float | None) -> tuple[Part, ...]: ...


class LazyTensor:
    """A launched step. Ask with `ready`, get with `wait`; both as often as wanted and from any thread."""

    def __init__(self, launched: _Launched, places: tuple[tuple[Place, ...], ...]) -> None:
        self._launched = launched
        self._places = places

    def ready(self) -> bool:
        """Whether `wait` would not block."""
        return self._launched.reached()

    def wait(self, timeout_s: float | None = None) -> Rows:
        """The rows, when the device has made them.

        Raises:
            TimeoutError: not within `timeout_s` seconds.
            StepError: the step failed.
            EngineDeadError: the device can do nothing more.
        """
        return Rows(self._launched.wait(timeout_s), self._places)
