"""All that an Alertmanager has been sent, also what is over by now: an alert may end before anybody looks."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from e2ekit.alertmanager import Alert, Alertmanager
from e2ekit.repeating import repeating

Told = tuple[str, str]
"""Of whom, and the alert's name."""
_EVERY_S = 0.5


def of_whom(labels: dict[str, str]) -> str:
    """The model; of an alert of the operator what sort it is, or nothing."""
    return labels.get("embedding_model") or labels.get("type", "")


class AllTold:
    """Alerts by their labels, as they were seen last."""

    def __init__(self, manager: Alertmanager) -> None:
        self._manager = manager
        self._found: dict[str, Alert] = {}

    @property
    def alerts(self) -> list[Alert]:
        """All so far."""
        return list(self._found.values())

    def names(self) -> set[Told]:
        """All so far, in short."""
        return {(of_whom(each["labels"]), each["labels"]["alertname"]) for each in self.alerts}

    def now(self) -> set[Told]:
        """Those that fire at this moment."""
        return {(of_whom(each["labels"]), each["labels"]["alertname"]) for each in self.look()}

    def look(self) -> list[Alert]:
        """See what fires now, and keep it."""
        firing = self._manager.alerts()
        for each in firing:
            self._found[json.dumps(each["labels"], sort_keys=True)] = each
        return firing


@contextmanager
def listening(manager: Alertmanager) -> Iterator[AllTold]:
    """Looks are taken all the while, inside."""
    told = AllTold(manager)
    with repeating(told.look, _EVERY_S):
        yield told
