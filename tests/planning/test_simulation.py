"""The simulated engine: virtual time adds up, and one seed is one result."""

from random import Random

import pytest
from tulip_rose.rose.graphs.book import Run
from tulip_rose.rose.graphs.key import Buckets

from bench.lengths import recorded
from bench.simulate_buckets import LOADS, Load, _shown, calls, compare
from bench.virtual_engine import Costs, Scheme, VirtualEngine

COSTS = Costs(((64, 2.0),), slot_rows=0.0, eager_ms=7.0, replay_ms=0.5, capture_ms=30.0)


def test_calls_far_apart_run_eagerly_then_are_captured_then_replay() -> None:
    seen = VirtualEngine(Scheme("", Buckets(), 4), COSTS).run([(1000.0 * index, [50]) for index in range(4)])
    assert seen.waits == [(0.0, 7.0), (1000.0, 32.5), (2000.0, 2.5), (3000.0, 2.5)]
    assert seen.runs == {Run.EAGER: 1, Run.CAPTURE: 1, Run.REPLAY: 2}
    assert (seen.tokens, seen.rows, seen.slots, seen.keys) == (200, 256, 8, {(64, 2)})


def test_a_prewarmed_graph_replays_from_the_first_call_on() -> None:
    seen = VirtualEngine(Scheme("", Buckets(), 4, ((64, 2),)), COSTS).run([(5.0, [50])])
    assert (seen.waits, dict(seen.runs)) == ([(5.0, 2.5)], {Run.REPLAY: 1})


def test_what_arrives_while_two_steps_are_in_flight_is_the_next_batch() -> None:
    seen = VirtualEngine(Scheme("", Buckets(), 4, ((64, 2), (64, 8))), COSTS).run(
        [(0.0, [5]), (0.1, [5]), (0.6, [5]), (0.7, [5])]
    )
    assert dict(seen.batches) == {(1, 5): 2, (2, 10): 1}
    assert [round(wait, 3) for _, wait in seen.waits] == [2.5, 4.4, 5.9, 5.8]


def test_a_call_ends_with_its_last_text() -> None:
    scheme = Scheme("", Buckets(most_tokens=64), 4, ((64, 2),))
    seen = VirtualEngine(scheme, COSTS).run([(0.0, [60, 60])])
    assert seen.waits == [(0.0, 4.5)]


def test_batches_for_which_there_are_no_slots_run_eagerly() -> None:
    seen = VirtualEngine(Scheme("", Buckets(slots=(2,)), 4), COSTS).run([(100.0 * at, [5] * 3) for at in range(3)])
    assert seen.runs == {Run.EAGER: 3}


def test_one_seed_is_one_result_and_every_call_is_answered() -> None:
    counts = recorded()["reference of Python, paragraphs"]
    runs = [compare(Random(1), counts, LOADS[0], Costs(), 4000.0) for _ in range(2)]
    assert runs[0] == runs[1]
    random = Random(1)
    _, today = (list(calls(random, counts, LOADS[0], 4000.0)) for _ in range(2))
    assert {run["calls"] for run in runs[0]} == {len(today)}


def test_a_line_of_the_table_is_counted_from_what_the_engine_saw() -> None:
    scheme = Scheme("", Buckets(), 4)
    seen = VirtualEngine(scheme, COSTS).run([(0.0, [50]), (1000.0, [50]), (1900.0, [20]), (3000.0, [50, 60, 10])])
    line = _shown(scheme, COSTS, seen, 4000.0)
    # Rows: thrice 64 and once 128; slots: thrice 2 and once 8, since pads own one.
    assert line["padded rows"] == 1 - (50 + 50 + 20 + 120) / (3 * 64 + 128)
    assert line["empty slots"] == 1 - 6 / 14
    assert [round(wait, 6) for _, wait in seen.waits] == [7.0, 32.5, 2.5, 7.0]
    # Cold are the three calls of the first two seconds, warm is the one of the second half.
    assert line["cold p50 ms"] == pytest.approx(7.0)
    assert line["cold p99 ms"] == pytest.approx(7.0 + 0.98 * (32.5 - 7.0))
    assert line["warm p99 ms"] == pytest.approx(7.0)
    assert (line["sizes met"], line["captured in service"], line["replayed"], line["calls"]) == (2, 1, 0.25, 4)


@pytest.mark.parametrize("load", LOADS, ids=lambda load: load.name)
def test_a_plan_captures_less_and_answers_sooner_than_exact_numbers_of_sequences(load: Load) -> None:
    counts = recorded()["Debian's descriptions, English"]
    cold, planned, _, exact, warmed, _ = compare(Random(2), counts, load, Costs(), 4000.0)
    assert planned["captured in service"] < min(cold["captured in service"], exact["captured in service"])
    assert planned["replayed"] > max(cold["replayed"], exact["replayed"])
    # What the plan pays for it: about a tenth of the rows more than graphs of exact numbers pad.
    assert exact["padded rows"] < planned["padded rows"] < exact["padded rows"] + 0.12
    assert planned["cold p99 ms"] < 0.75 * min(each["cold p99 ms"] for each in (cold, exact, warmed))
