"""The simulated fleet: its engines, its scalers, and what its numbers are taken from."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from trellis_operator.scaling.formula import Targets

from bench import simulate_autoscaling as command
from bench.fleet.cell import Cell
from bench.fleet.constants import Constants, Edges
from bench.fleet.curve import LOADS, PERCENTILES, Curve, curve
from bench.fleet.fleet import Fleet, latencies, percentile
from bench.fleet.scalers import ByCpu, ByNeed, Scrape, Static
from bench.fleet.scenario import Scenario, scenario
from bench.fleet.sizing import HELD, growth, left, size, sizes
from bench.record import RESULTS

COUNTS = {20: 3, 100: 2, 500: 1}
ENGINE = Constants()
SPEEDS, BATCHES = np.full(len(LOADS), ENGINE.full_speed), np.full(len(LOADS), 256.0)
FLAT = Curve(np.full((len(LOADS), PERCENTILES.size), 0.02), np.array(LOADS), SPEEDS, BATCHES)
SIZING = Path(__file__).parents[2] / "docs" / "sizing.md"


def cell(load: float, seconds: int = 20, engines: int = 2, seed: int = 1) -> Cell:
    found = Cell(engines, ENGINE, COUNTS, Random(seed))
    found.run([load * engines * ENGINE.full_speed] * seconds)
    return found


def steady(load: float, seconds: int, engines: int, **losses: int) -> Scenario:
    rates = np.full(seconds, load * engines * ENGINE.full_speed)
    return Scenario("", rates, ENGINE, {int(at[1:]): lost for at, lost in losses.items()})


def measured(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["measured"]


def test_one_seed_gives_one_run_and_another_seed_another_one():
    assert cell(0.5).latencies_s == cell(0.5).latencies_s
    assert cell(0.5).latencies_s != cell(0.5, seed=2).latencies_s


def test_engines_are_busy_as_much_as_they_are_asked_and_slower_the_more_they_are():
    calm, full = cell(0.3), cell(0.9)

    busy = [sum(each.busy_s for each in found.engines) / 2 / 20 for found in (calm, full)]
    assert 0.25 < busy[0] < 0.4
    assert 0.8 < busy[1] < 1.0
    assert np.percentile(full.latencies_s, 99) > 1.5 * np.percentile(calm.latencies_s, 99)
    assert min(calm.latencies_s) == pytest.approx(ENGINE.step_s(20) + ENGINE.around_ms / 1000)


def test_texts_that_no_engine_has_room_for_are_refused_and_all_others_answered():
    found = Cell(1, replace(ENGINE, queue_tokens=1000), COUNTS, Random(1))
    found.run([3 * ENGINE.full_speed] * 5)

    done = sum(engine.tokens for engine in found.engines)
    assert found.refused > 0
    assert done == pytest.approx(ENGINE.full_speed * 5, rel=0.1)


def test_the_gateways_choice_keeps_queues_of_overrun_engines_nearly_equal():
    found = Cell(4, ENGINE, COUNTS, Random(1))
    found.run([1.3 * 4 * ENGINE.full_speed] * 10)

    served = [engine.tokens for engine in found.engines]
    assert max(served) < 1.1 * min(served)


def test_tokens_that_come_are_taken_refused_or_wait():
    played = Fleet(steady(1.5, 20, 4), Static(4), FLAT, 4).play()

    waiting = 0.5 * 4 * ENGINE.full_speed * 19.5
    assert played.refused.sum() == 0
    assert played.wait_s[-1] == pytest.approx(waiting / (4 * ENGINE.full_speed))


def test_a_queue_is_never_longer_than_the_engines_allow():
    played = Fleet(steady(3.0, 60, 2), Static(2), FLAT, 2).play()

    assert played.refused.sum() > 0
    assert played.wait_s.max() <= ENGINE.queue_tokens / ENGINE.full_speed


def test_lost_engines_come_back_when_others_have_started():
    played = Fleet(steady(0.5, 120, 10, t30=4), Static(10), FLAT, 10).play()

    assert set(played.ready[:30]) == {10}
    assert set(played.ready[30 : 30 + ENGINE.start_s]) == {6}
    assert set(played.ready[30 + ENGINE.start_s :]) == {10}


def test_requests_without_an_engine_are_refused():
    played = Fleet(steady(0.5, 90, 1, t30=1), Static(1), FLAT, 1).play()

    bins, weights = latencies(played, FLAT)
    assert played.refused.sum() == pytest.approx(ENGINE.start_s / 90 * played.load.sum())
    assert weights.sum() == pytest.approx(played.load.sum() - played.refused.sum())
    assert percentile(bins, weights.sum(axis=0), 50) == pytest.approx(0.02, rel=0.02)


def test_the_formula_adds_engines_for_a_rate_and_takes_them_away_after_the_window():
    story = replace(steady(0.7, 1800, 10), load=np.r_[np.full(900, 140_000.0), np.full(900, 14_000.0)])
    targets = Targets(1e9, ENGINE.utilization, 1, 100)
    played = Fleet(story, ByNeed(ENGINE, targets), FLAT, 20).play()

    needed = np.ceil(140_000 / ENGINE.full_speed / ENGINE.utilization)
    assert played.paid[899] == needed
    assert played.paid[900 + ENGINE.fewer_after_s - 1] == needed
    assert played.paid[-1] == np.ceil(14_000 / ENGINE.full_speed / ENGINE.utilization)


def test_the_formula_adds_engines_for_what_waits():
    scaler = ByNeed(ENGINE, Targets(10_000, ENGINE.utilization, 1, 100))
    for taken in (0.0, 1000.0):
        scaler.scraped(Scrape(taken, taken, 75_000, ENGINE.full_speed, 1.0, 5))

    assert scaler.wanted(5) == 8


@pytest.mark.parametrize(
    ("busy", "ready", "wanted"),
    [(1.0, 10, 15), (0.75, 10, 10), (0.35, 10, 10), (1.0, 7, 10)],
    ids=["more", "within the tolerance", "fewer only after the window", "those that start count as idle"],
)
def test_an_autoscaler_on_cpu_follows_the_rule_of_kubernetes(busy, ready, wanted):
    scaler = ByCpu(ENGINE, Targets(1.0, 0.7, 1, 100))
    scaler.scraped(Scrape(0, 0, 0, ENGINE.full_speed, busy, ready))

    assert scaler.wanted(10) == wanted


def test_each_scenario_needs_the_fleet_that_it_is_named_by_and_is_the_same_for_a_seed():
    for name in ("day", "slow", "burst", "loss"):
        story = scenario(name, 10, ENGINE, 3)
        assert np.median(np.sort(story.load)[-600:]) == pytest.approx(7 * ENGINE.full_speed, rel=0.15)
        assert (story.load == scenario(name, 10, ENGINE, 3).load).all()


def test_a_second_by_second_fleet_answers_as_one_that_is_played_request_by_request():
    rates = np.array([0.5] * 20 + [1.4] * 15 + [0.5] * 25) * 3 * ENGINE.full_speed
    by_request = Cell(3, ENGINE, COUNTS, Random(5))
    by_request.run(list(rates))
    read = curve(3, ENGINE, COUNTS, 6, 500)
    found = command.summary(Fleet(Scenario("", rates, ENGINE, {}), Static(3), read, 3).play(), read, 1.0)

    late = float(np.mean(np.array(by_request.latencies_s) > 1.0))
    assert 0.2 < late < 0.8
    assert found["missed"] == pytest.approx(late, abs=0.1)
    assert found["p99_ms"] == pytest.approx(1000 * np.percentile(by_request.latencies_s, 99), rel=0.25)


def test_the_command_leaves_a_table_numbers_and_a_picture(tmp_path, monkeypatch, capsys):
    flags = ["--replicas", "2", "--scenario", "loss", "--texts", "200", "--results", str(tmp_path)]
    monkeypatch.setattr(command, "_CHECK", [0.5, 1.4, 0.5])
    monkeypatch.setattr(sys, "argv", ["simulate_autoscaling", *flags])
    command.main()

    [page], [picture], [numbers] = (list(tmp_path.glob(f"*-autoscaling.{end}")) for end in ("md", "png", "json"))
    runs = json.loads(numbers.read_text(encoding="utf-8"))["measured"]["runs"]
    assert [run["strategy"] for run in runs] == [each.name for each in command.STRATEGIES]
    assert all(f"| loss, 2 | {run['strategy']} |" in page.read_text(encoding="utf-8") for run in runs)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "late or refused" in capsys.readouterr().out


def test_what_an_engine_takes_is_what_was_recorded():
    found = measured("2026-11-29-in-process")["trellis float32"]["seconds"]
    http = measured("2026-11-29-http")["runs"]["1 x 16 tokens, 1 clients / trellis float32"]
    short, long = (
        1000 * np.median([np.median(turn) for turn in found[load]]) for load in ("1 x 16 tokens", "1 x 128 tokens")
    )

    assert 1000 * ENGINE.step_s(16) == pytest.approx(short, abs=0.1)
    assert 1000 * ENGINE.step_s(128) == pytest.approx(long, abs=0.1)
    assert ENGINE.around_ms == pytest.approx(np.median([run["p50_ms"] for run in http]) - 3.0, abs=0.01)


def test_what_an_engine_costs_a_gateway_is_what_was_recorded():
    found, edges = measured("2026-11-30-fleet-edges"), Edges()

    assert edges.slice_bytes == found["slice_bytes"]
    assert edges.look_cpu_us == pytest.approx(found["look_cpu_us"], abs=0.6)
    assert edges.connection_kib == pytest.approx(found["connection_kib"], abs=0.6)
    assert edges.choice_us == pytest.approx((found["pick_us"]["10000"] - found["pick_us"]["1000"]) / 9000, abs=0.006)
    one, many = found["gateway_cpu_us"]["1"], found["gateway_cpu_us"]["16"]
    assert edges.text_cpu_us == pytest.approx((many - one) / 15, abs=0.6)
    assert edges.request_cpu_us == pytest.approx(one - (many - one) / 15, abs=0.6)


def test_a_load_needs_engines_for_its_tokens_and_gateways_for_its_requests():
    one, twice, packed = size(1000, 92, 1), size(2000, 92, 1), size(1000, 92, 16)

    assert one.engines == np.ceil(92_000 / ENGINE.full_speed / ENGINE.utilization)
    assert twice.engines in (2 * one.engines, 2 * one.engines - 1)
    assert packed.engines == one.engines
    assert packed.gateways < one.gateways
    assert 1 > left(300) > left(1000) > left(10_000) == 0
    assert size(60_000, 92, 16).engines > HELD
    with pytest.raises(ValueError, match="at most 1,000 engines"):
        size(200_000, 92, 1)


def test_the_tables_of_the_page_on_sizing_are_those_that_are_computed():
    page = SIZING.read_text(encoding="utf-8")

    assert sizes() in page
    assert growth() in page
