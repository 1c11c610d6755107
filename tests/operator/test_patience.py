"""Patience: never gives up, never hammers. Time is an argument."""

from trellis_operator.cluster.patience import Patience
from trellis_operator.plan.plan import APPLY, Action
from trellis_operator.status.refusal import refusal

TARGET = ("Service", "m")


def action(body: int = 1) -> Action:
    return Action(APPLY, TARGET, "spec.ports differs", {"body": body})


def tries(patience: Patience, seconds: float, refused: bool) -> int:
    """How often an action is carried out in that time, if it is asked for ten times a second."""
    count = 0
    for tenth in range(int(seconds * 10)):
        now = tenth / 10
        if patience.allows(action(), now):
            patience.tried(action(), now, refusal(TARGET, 403, "no") if refused else None)
            count += 1
    return count


def test_what_is_refused_is_tried_again_ever_less_often_but_every_minute() -> None:
    assert tries(Patience(), 60, refused=True) <= 6
    assert 10 <= tries(Patience(), 600, refused=True) <= 16


def test_what_is_changed_back_is_put_right_at_once_a_few_times_and_then_rarely() -> None:
    assert tries(Patience(), 1, refused=False) == 3
    assert tries(Patience(), 600, refused=False) <= 11


def test_another_wish_is_tried_at_once() -> None:
    patience = Patience()
    patience.tried(action(), 0, refusal(TARGET, 403, "no"))
    assert not patience.allows(action(), 1)
    assert patience.allows(action(body=2), 1)


def test_only_refusals_of_what_is_still_not_as_wanted_are_told() -> None:
    patience = Patience()
    patience.tried(action(), 0, refusal(TARGET, 403, 'User "trellis" cannot patch resource "services"'))
    assert [each.reason for each in patience.refusals({TARGET})] == ["Forbidden"]
    assert patience.refusals(set()) == []


def test_a_fight_is_told_and_one_repair_is_none() -> None:
    patience = Patience()
    patience.tried(action(), 0, None)
    assert patience.contested(0) == []
    for now in range(1, 5):
        patience.tried(action(), now, None)
    [told] = patience.contested(5)
    assert "Service m" in told
    assert patience.contested(10000) == []


def test_who_else_writes_is_asked_for_once_it_is_a_fight_and_told() -> None:
    patience = Patience()
    asked = []
    for now in range(5):
        asked.append(patience.contests(action(), now))
        patience.tried(action(), now, None, "kubectl-edit" if asked[-1] else "")
    assert asked == [False, False, False, True, True]
    assert not patience.contests(action(body=2), 5)
    assert not patience.contests(action(), 10000)
    [told] = patience.contested(5)
    assert "Service m is changed by kubectl-edit again and again (spec.ports differs)" in told


def test_what_is_refused_again_and_again_is_no_fight() -> None:
    patience = Patience()
    for now in range(9):
        patience.tried(action(), now, refusal(TARGET, 403, "no"))
    assert not patience.contests(action(), 9)


def test_what_was_refused_often_and_is_taken_then_is_no_fight_either() -> None:
    patience = Patience()
    for now in range(9):
        patience.tried(action(), now, refusal(TARGET, 500, "no"))
    patience.tried(action(), 10, None)
    assert patience.contested(11) == []
    for now in range(11, 15):
        patience.tried(action(), now, None)
    assert patience.contested(15) != []


def test_when_the_next_try_may_be_is_told() -> None:
    patience = Patience()
    assert patience.next_try(0) is None
    patience.tried(action(), 0, refusal(TARGET, 403, "no"))
    assert patience.next_try(0.5) == 1.5


def test_what_was_tried_long_ago_is_forgotten() -> None:
    """A ConfigMap's name carries a hash: each change of the manifest is another object."""
    patience = Patience()
    for number in range(100):
        change = Action(APPLY, ("ConfigMap", f"m-{number}"), "absent", {"body": number})
        patience.tried(change, 100.0 * number, None)
    assert repr(patience) == "Patience(10 objects)"
