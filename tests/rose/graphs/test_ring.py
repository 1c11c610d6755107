from hypothesis import given
from hypothesis import strategies as st
from tulip_rose.rose.graphs.ring import Ring

SLOTS = 3


class Step:
    """Reads its slot when it is finished, as a device does that copies late."""

    def __init__(self, slot: list[int], written: int) -> None:
        self.slot, self.written = slot, written
        self.read: int | None = None

    def done(self) -> bool:
        return self.read is not None

    def finish(self) -> None:
        if self.read is None:
            self.read = self.slot[0]


def launch(ring: Ring[list[int]], number: int) -> Step:
    slot = ring.take()
    slot[0] = number
    step = Step(slot, number)
    ring.hold(step)
    return step


@given(st.lists(st.one_of(st.just("launch"), st.integers(0, 5)), max_size=100))
def test_a_slot_is_written_again_only_when_its_step_has_read_it(orders: list[str | int]) -> None:
    ring, steps = Ring([[0] for _ in range(SLOTS)]), list[Step]()
    for number, order in enumerate(orders):
        if order == "launch":
            steps.append(launch(ring, number))
        elif isinstance(order, int) and order < len(steps):
            steps[order].finish()
        assert ring.idle == all(step.done() for step in steps[-SLOTS:])
    for step in steps:
        step.finish()
    assert [step.read for step in steps] == [step.written for step in steps]


@given(st.integers(1, 50))
def test_with_one_slot_more_than_steps_in_flight_taking_a_slot_never_waits(count: int) -> None:
    ring, flights = Ring([[0] for _ in range(SLOTS)]), list[Step]()
    for number in range(count):
        flights.append(launch(ring, number))
        if len(flights) == SLOTS - 1:
            flights.pop(0).finish()
    assert ring.waits == 0


def test_with_no_slot_to_spare_taking_one_waits_for_the_step_that_has_it() -> None:
    ring = Ring([[0] for _ in range(SLOTS)])
    steps = [launch(ring, number) for number in range(SLOTS + 1)]
    assert [step.done() for step in steps] == [True, False, False, False]
    assert ring.waits == 1


def test_a_slot_that_was_not_handed_over_is_taken_again() -> None:
    ring = Ring([[0] for _ in range(SLOTS)])
    assert ring.take() is ring.take()
    assert ring.idle
