"""Situations of an alert about a share of few requests: the share is large, and what counts is how many there were.

All that is asked goes wrong, so that the number alone decides, on either side of it and of the time in which it counts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from monitorkit.case import Case
from monitorkit.series import Series, every_minute

_FEW = 8
"""More than half of what is too few."""


@dataclass(frozen=True)
class Floor:
    """What an alert says.

    Attributes:
        series: of a counter of what went wrong; nothing goes well.
        window: minutes in which more than ten must go wrong.
        wait: minutes for which it must be so.
        fires: the labels of the alert.
    """

    alert: str
    series: Callable[[str], Series]
    window: int
    wait: int
    fires: str

    def cases(self) -> Iterator[Case]:
        """All situations."""
        yield self._case("all eight that came", {}, _FEW, None)
        yield self._case("all fourteen that came", {}, 14, self.fires)
        yield self._case("eight, and before them eight more", {self.window // 4: _FEW}, _FEW, self.fires)
        yield self._case("eight, and a hundred long before", {2: 100}, _FEW, None)

    def _case(self, said: str, before: dict[int, int], lately: int, fires: str | None) -> Case:
        """One a minute lately, looked at as soon as those beyond ten, or beyond half of it, have lasted.

        It begins so that what was in the third minute has just left the window then.
        """
        begin = self.window - self.wait
        bad = [before.get(minute, 0) for minute in range(begin)] + [1] * lately + [0] * self.wait
        at = begin + (11 if lately > _FEW else 6) + self.wait + 1
        return Case(self.alert, said, self.series(every_minute(bad)), f"{at}m", fires)
