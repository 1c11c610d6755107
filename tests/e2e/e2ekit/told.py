"""All that an Alertmanager has been sent, also what is over by now: an alert may end before anybody looks."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from e2ekit.alertmanager import Alert, Alertmanager
from e2ekit.repeating import Repeated, repeating

Told = tuple[str, str]
"""Of whom, and the alert's name."""
_EVERY_S = 0.5


def of_whom(labels: dict[str, str]) -> str:
    """The model; of an alert of the operator what sort it is, or nothing."""
    return labels.get("embedding_model") or labels.get("type", "")


class AllTold:
    """Alerts by their labels, as they were seen last.

    Attributes:
        looks: how looking goes.
    """

    def __init__(self, manager: Alertmanager) -> None:
        self._manager = manager
        self._found: dict[str, Alert] = {}
        self._firing: list[Alert] = []
        self.looks = Repeated(self._look)

    @property
    def alerts(self) -> list[Alert]:
        """All so far."""
        return list(self._found.values())

    def names(self) -> set[Told]:
        """All so far, in short."""
        return _short(self.alerts)

    def now(self) -> set[Told]:
        """Those that fired when it was looked at last."""
        return _short(self._firing)

    def _look(self) -> None:
        firing = self._manager.alerts()
        for each in firing:
            self._found[json.dumps(each["labels"], sort_keys=True)] = each
        self._firing = firing


def _short(alerts: Iterable[Alert]) -> set[Told]:
    return {(of_whom(each["labels"]), each["labels"]["alertname"]) for each in alerts}


@contextmanager
def listening(manager: Alertmanager) -> Iterator[AllTold]:
    """Looks are taken all the while, inside."""
    told = AllTold(manager)
    with repeating(told.looks, _EVERY_S):
        yield told
