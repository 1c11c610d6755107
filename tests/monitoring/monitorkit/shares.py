"""Situations of an alert about a share: of what happened within a window, more than a part was bad, for a while.

Each situation lies close to what the alert says: on one side of it, it must fire, and on the other it must not.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from monitorkit.case import Case
from monitorkit.series import Series, every_minute

_BEGIN = 30
_LENGTH = 120


@dataclass(frozen=True)
class Share:
    """What an alert says.

    Attributes:
        series: of counters of what went well, and of what was bad.
        part: more than this must be bad.
        window: minutes that are looked back.
        wait: minutes for which it must be so.
        fires: the labels of the alert.
    """

    alert: str
    series: Callable[[str, str], Series]
    part: float
    window: int
    wait: int
    fires: str

    def cases(self) -> Iterator[Case]:
        """All situations."""
        yield self._steady("a little more than it may be", 1.4, self.fires)
        yield self._steady("a little less", 0.7, None)
        yield self._from_a_minute_on("it has just begun", self.wait * 0.7, None)
        yield self._from_a_minute_on("it has lasted", self.wait * 1.5, self.fires)
        yield self._burst()
        yield self._rare()
        yield self._fewer()
        yield self._bursts_of_good_ones()

    def _case(self, said: str, good: list[float], bad: list[float], minute: float, fires: str | None) -> Case:
        series = self.series(every_minute(good), every_minute(bad))
        return Case(self.alert, said, series, f"{round(minute)}m", fires)

    def _steady(self, said: str, times: float, fires: str | None) -> Case:
        bad = 100 * self.part * times
        return self._case(said, [100 - bad] * _LENGTH, [bad] * _LENGTH, _LENGTH - 1, fires)

    def _from_a_minute_on(self, said: str, minutes: float, fires: str | None) -> Case:
        bad = [0.0] * _BEGIN + [900.0] * _LENGTH
        return self._case(said, [100.0] * len(bad), bad, _BEGIN + 1 + minutes, fires)

    def _burst(self) -> Case:
        """Over before it counts: a longer window would see it for longer than the alert waits."""
        lasts = max(1, self.wait - self.window - 1)
        bad = [0.0] * _BEGIN + [9000.0] * lasts + [0.0] * _LENGTH
        minute = _BEGIN + self.wait + 2
        return self._case("a burst that is over", [100.0] * len(bad), bad, minute, None)

    def _rare(self) -> Case:
        """Always within the window: a shorter one would lose sight of it."""
        every = self.window * 4 // 5
        bad = [90.0 * every if minute % every == 0 else 0.0 for minute in range(_LENGTH)]
        return self._case("much, now and then", [10.0] * _LENGTH, bad, _LENGTH - 1, self.fires)

    def _fewer(self) -> Case:
        """What went well became less: a longer window would not have seen it yet."""
        good = [100_000.0] * _BEGIN + [10.0] * _LENGTH
        minute = _BEGIN + self.window + self.wait + 2
        return self._case("little is left that goes well", good, [10.0] * len(good), minute, self.fires)

    def _bursts_of_good_ones(self) -> Case:
        """One within each window: a shorter one would at times see nothing else."""
        good = [100.0 * self.window if minute % self.window == 0 else 0.0 for minute in range(_LENGTH)]
        bad = 100 * self.part / (1 - self.part) * 1.5
        return self._case("what goes well comes in bursts", good, [bad] * _LENGTH, _LENGTH - 1, self.fires)
