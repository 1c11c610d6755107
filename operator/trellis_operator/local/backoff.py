"""How long to wait before a dead program is started again. Pure: time is an argument."""

from dataclasses import dataclass

FIRST_S = 0.5
LONGEST_S = 30.0
GOOD_RUN_S = 60.0


@dataclass(frozen=True)
class Backoff:
    """Doubles from half a second to half a minute; a minute of readiness makes it forget."""

    delay_s: float = FIRST_S

    def after(self, ready_for_s: float) -> "Backoff":
        """The back-off to use for a program that died after having been ready for `ready_for_s`."""
        return Backoff() if ready_for_s >= GOOD_RUN_S else self

    def doubled(self) -> "Backoff":
        """The back-off to use if it dies again."""
        return Backoff(min(2 * self.delay_s, LONGEST_S))
