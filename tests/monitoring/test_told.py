"""Looks at an Alertmanager go on, whatever comes between; what waits in vain says why."""

from dataclasses import dataclass
from typing import Any

import pytest
from e2ekit.repeating import Repeated, repeating
from e2ekit.told import listening

_EVERY_S = 0.01
_SOON_S = 30.0


def alert(name: str, model: str = "m") -> dict[str, Any]:
    return {"labels": {"alertname": name, "embedding_model": model}, "annotations": {}}


@dataclass
class Hurried:
    """In place of an Alertmanager on a machine short of time: answers of its looks, one by one, then the last."""

    answers: list[list[dict[str, Any]] | Exception]

    def alerts(self) -> list[dict[str, Any]]:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_what_fired_stays_told_and_a_look_that_fails_is_not_the_last() -> None:
    manager = Hurried([[alert("A")], ConnectionError("refused"), [alert("B"), alert("C", "n")]])
    with listening(manager) as told:
        told.looks.until(lambda: told.now() == {("m", "B"), ("n", "C")}, "the last look", _SOON_S)
    assert told.names() == {("m", "A"), ("m", "B"), ("n", "C")}


def test_an_alert_that_nobody_can_see_fails_with_what_looking_raised() -> None:
    manager = Hurried([[alert("A")], ConnectionError("refused")])
    with listening(manager) as told:
        told.looks.until(lambda: told.looks.error, "a look fails", _SOON_S)
        with pytest.raises(AssertionError, match=r"not within 0 s: B is told; .*ConnectionError\('refused'\)"):
            told.looks.until(lambda: ("m", "B") in told.names(), "B is told", 0)


def test_an_alert_that_is_not_told_while_looking_goes_well_fails_without_another_reason() -> None:
    manager = Hurried([ConnectionError("refused"), [alert("A")]])
    with listening(manager) as told:
        told.looks.until(lambda: told.names(), "a look succeeds", _SOON_S)
        with pytest.raises(AssertionError, match="not within 0 s: B is told") as failure:
            told.looks.until(lambda: ("m", "B") in told.names(), "B is told", 0)
    assert "refused" not in str(failure.value)


def test_what_never_goes_well_fails_at_the_end() -> None:
    def act() -> None:
        raise TimeoutError("too slow")

    repeated = Repeated(act)
    with pytest.raises(AssertionError, match=r"never went well: TimeoutError\('too slow'\)"):  # noqa: SIM117
        with repeating(repeated, _EVERY_S):
            repeated.until(lambda: repeated.error, "it fails", _SOON_S)
