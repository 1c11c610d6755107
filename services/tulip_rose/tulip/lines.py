"""`Lines`: who waits, in the order in which they are served. Pure: knows no budget, no bound and no clock.

Those of one priority stand in one line, first come first served. Between lines each level of priority counts as a
later arrival by `SECONDS_A_LEVEL`. So whoever comes is overtaken only by those that come within a fixed time after it,
and nobody starves: there is nothing to age and nothing to weigh.
"""

from collections import OrderedDict
from collections.abc import Iterator
from heapq import heappop, heappush, heapreplace

from tulip_rose.sequence import Sequence

SECONDS_A_LEVEL = 0.01
"""How much later a sequence counts to have come for each level of its priority: at most 10 s for the last of 1000."""


def turn(sequence: Sequence) -> float:
    """When a sequence counts to have come; the earliest is served first."""
    return sequence.arrival + SECONDS_A_LEVEL * sequence.priority


class Lines:
    """The lines of all priorities.

    Ordered mappings and not deques: one that leaves early (its caller went away) leaves at once from wherever it
    stands. Marks in a deque would let callers that come and go fill the memory behind a stuck device.
    """

    def __init__(self) -> None:
        self._lines: dict[int, OrderedDict[Sequence, None]] = {}
        self._heads: list[tuple[float, int]] = []
        """A heap with one entry a line: its priority, and the turn of its head or of one that left before."""
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, sequence: Sequence) -> bool:
        return sequence in self._lines.get(sequence.priority, ())

    def __iter__(self) -> Iterator[Sequence]:
        """All, line by line."""
        return (sequence for line in self._lines.values() for sequence in line)

    def add(self, sequence: Sequence) -> None:
        """Put one at the end of its line."""
        line = self._lines.get(sequence.priority)
        if line is None:
            line = self._lines[sequence.priority] = OrderedDict()
            heappush(self._heads, (turn(sequence), sequence.priority))
        line[sequence] = None
        self._count += 1

    def remove(self, sequence: Sequence) -> None:
        """Take one out, wherever it stands."""
        del self._lines[sequence.priority][sequence]
        self._count -= 1

    def first(self) -> Sequence | None:
        """Whose turn it is; None where nobody waits."""
        while self._heads:
            known, priority = self._heads[0]
            head = next(iter(self._lines[priority]), None)
            if head is None:
                heappop(self._heads)
                del self._lines[priority]
            # One line alone has nobody to be compared with: its entry is brought up to date when another one comes.
            elif len(self._heads) == 1 or turn(head) == known:
                return head
            else:
                heapreplace(self._heads, (turn(head), priority))
        return None
