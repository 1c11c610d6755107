"""`Book`: which steps run eagerly, which are captured, and which replay. Knows neither device, nor tensors, nor time.

    unseen ──first hit: eager──▶ seen ──a later hit: capture──▶ held ──every hit: replay
                                  │ ▲                            │
                          capture │ └───────── evicted ──────────┘ (and counted from the beginning)
                            fails ▼
                               refused: eager for good

Capturing takes many times as long as a step, so a key is captured when it comes back, and when nothing else is in
flight; a key that never meets an idle device is captured after some patience, since until then it runs slower.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

_REMEMBERED = 16
"""Keys that are remembered, times the graphs that are held: forms of output that callers make up are many."""
PATIENCE = 8
"""Hits of a key after which a busy device is no reason to wait any more."""

K = TypeVar("K", bound=Hashable)


class Run(Enum):
    """How a step runs."""

    EAGER = "eager"
    CAPTURE = "capture"
    """Capture, then replay."""
    REPLAY = "replay"
    SPLIT = "split"
    """Not at all: it has no room, two halves of it may have."""


@dataclass(frozen=True, slots=True)
class Decision(Generic[K]):
    """How a step runs, and whose graph is dropped before."""

    run: Run
    evict: K | None = None


_SPLIT: Decision[Any] = Decision(Run.SPLIT)
_REPLAY: Decision[Any] = Decision(Run.REPLAY)
_EAGER: Decision[Any] = Decision(Run.EAGER)


@dataclass(slots=True)
class _Page:
    hits: int = 0
    held: bool = False
    refused: bool = False
    crowded: bool = False


class Book(Generic[K]):
    """Of one engine. A decision counts as done; what came of a capture is told afterwards."""

    def __init__(self, most: int, patience: int = PATIENCE) -> None:
        """At most that many graphs are held, at least one."""
        if most < 1:
            raise ValueError(f"{most} graphs cannot be held, at least 1 was expected")
        self._most, self._patience = most, patience
        self._pages: OrderedDict[K, _Page] = OrderedDict()

    def decide(self, key: K, *, idle: bool) -> Decision[K]:
        """Count a hit of a key and say how it runs; `idle`: nothing is in flight."""
        page = self._page(key)
        page.hits += 1
        if page.crowded:
            return _SPLIT
        if page.held:
            return _REPLAY
        if page.refused or page.hits == 1 or not (idle or page.hits > self._patience):
            return _EAGER
        return Decision(Run.CAPTURE, self._make_room())

    def captured(self, key: K) -> None:
        """Its graph is there."""
        self._page(key).held = True

    def refuse(self, key: K) -> None:
        """Its capture failed, and will not be tried again."""
        self._page(key).refused = True

    def crowd(self, key: K) -> None:
        """A step of this key had no room in memory."""
        self._page(key).crowded = True

    @property
    def held(self) -> tuple[K, ...]:
        """Keys with a graph, the one that was hit last at the end."""
        return tuple(key for key, page in self._pages.items() if page.held)

    @property
    def refused(self) -> tuple[K, ...]:
        """Keys that stay eager since their capture failed."""
        return tuple(key for key, page in self._pages.items() if page.refused)

    @property
    def crowded(self) -> tuple[K, ...]:
        """Keys whose steps are split."""
        return tuple(key for key, page in self._pages.items() if page.crowded)

    def __repr__(self) -> str:
        return f"Book(held={len(self.held)}, refused={len(self.refused)}, crowded={len(self.crowded)})"

    def _page(self, key: K) -> _Page:
        page = self._pages.get(key)
        if page is not None:
            self._pages.move_to_end(key)
            return page
        self._pages[key] = page = _Page()
        if len(self._pages) > self._most * _REMEMBERED:
            self._forget()
        return page

    def _make_room(self) -> K | None:
        """Forget the graph whose last hit is longest ago, where as many are held as may be."""
        held = self.held
        if len(held) < self._most:
            return None
        self._pages[held[0]] = _Page()
        return held[0]

    def _forget(self) -> None:
        oldest = next(key for key, page in self._pages.items() if not page.held)
        del self._pages[oldest]
