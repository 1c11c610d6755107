"""What KEDA asks Prometheus gives the number of the formula: on made-up series, and on those of real programs."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from e2ekit.prometheus import promtool
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from trellis_operator.scaling.formula import FULL_BATCH, SMALL_BATCH, Demand, Targets, need
from trellis_operator.scaling.promql import need_query

WINDOW_S = 60
STEP_S = 10
TARGETS = Targets(waiting_tokens=1234567, utilization=0.7, min_replicas=0, max_replicas=9)
MEASURED = Targets(None, utilization=0.7, min_replicas=0, max_replicas=9, wait_s=3, unmeasured_tokens=7000)
"""Where no number is given: what may wait goes by what was measured."""
OWN = 'namespace="s",embedding_model="m"'
_STEPS = 60

Series = dict[str, str]


def of(name: str, pod: str, values: float | str, labels: str = OWN, more: str = "") -> Series:
    """One series: a number that stays, or what promtool's notation says."""
    line = values if isinstance(values, str) else f"{values!r}x{_STEPS}"
    return {f'trellis_{name}{{{labels},pod="{pod}"{more}}}': line}


def gateway(held: float = 0.0, pod: str = "g-0") -> Series:
    return of("gateway_held_tokens", pod, held)


def engine(pod: str, queued: float, per_step: float, capacity: float, room: float = 131_072.0) -> Series:
    """An engine as it is scraped, and a gateway that sees it."""
    return (
        of("engine_max_queued_tokens", pod, room)
        | of("engine_queued_tokens", pod, queued)
        | of("engine_tokens_total", pod, f"0+{per_step!r}x{_STEPS}")
        | of("engine_capacity_tokens_per_second", pod, capacity)
        | of("engine_up", pod, 1.0)
        | of("gateway_endpoint_up", "g-0", 1.0, more=f',engine="{pod}"')
    )


def asked(*, targets: Targets = TARGETS) -> str:
    return need_query("s", "m", targets, WINDOW_S)


def judge(folder: Path, series: Series, expression: str, expected: float) -> None:
    """Let the real engine of Prometheus evaluate an expression after ten minutes."""
    trial = {
        "interval": f"{STEP_S}s",
        "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [
            {"expr": expression, "eval_time": "5m", "exp_samples": [{"labels": "{}", "value": expected}]}
        ],
    }
    path = folder / "trial.yaml"
    path.write_text(yaml.safe_dump({"rule_files": [], "evaluation_interval": "10s", "tests": [trial]}))
    promtool("test", "rules", path)


def is_near(value: float, targets: Targets = TARGETS) -> str:
    """1 where the need is `value`, as far as floats tell."""
    return f"abs(({asked(targets=targets)}) - {value!r}) <= bool {1e-9 * max(1.0, value)!r}"


CASES: dict[str, tuple[Series, Demand]] = {
    "nobody asks and nothing is there": (gateway(), Demand(0, 0, 0)),
    "a gateway holds a request": (gateway(300.0), Demand(300, 0, 0)),
    "two gateways hold": (gateway(300.0) | gateway(50.0, "g-1"), Demand(350, 0, 0)),
    "an engine that nobody has used": (gateway() | engine("e-0", 0.0, 0.0, 0.0), Demand(0, 0, 0)),
    "the rate tells": (gateway() | engine("e-0", 5.0, 90_000.0, 10_000.0), Demand(5, 9000, 10_000)),
    "the queue tells": (gateway() | engine("e-0", 9e6, 90_000.0, 10_000.0), Demand(9e6, 9000, 10_000)),
    "two engines of two speeds": (
        gateway() | engine("e-0", 10.0, 90_000.0, 10_000.0) | engine("e-1", 20.0, 30_000.0, 20_000.0),
        Demand(30, 12_000, 15_000),
    ),
    "a new engine was not measured yet": (
        gateway() | engine("e-0", 0.0, 90_000.0, 10_000.0) | engine("e-1", 0.0, 0.0, 0.0),
        Demand(0, 9000, 10_000),
    ),
    "small batches are slow, and the best of the hour counts": (
        gateway()
        | engine("e-0", 0.0, 90_000.0, 1.0)
        | of("engine_capacity_tokens_per_second", "e-0", f"20000 4000x{_STEPS}"),
        Demand(0, 9000, 20_000),
    ),
    "an engine that came a moment ago is not scraped yet": (
        gateway(300.0) | of("gateway_endpoint_up", "g-0", f"0x28 1x{_STEPS}", more=',engine="e-0"'),
        Demand(300, 0, 0),
    ),
    "other models and namespaces are not seen": (
        gateway()
        | of("engine_queued_tokens", "x", 9e9, 'namespace="s",embedding_model="n"')
        | of("engine_queued_tokens", "x", 9e9, 'namespace="t",embedding_model="m"'),
        Demand(0, 0, 0),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_query_gives_the_need_of_the_formula(tmp_path: Path, name: str) -> None:
    series, demand = CASES[name]
    judge(tmp_path, series, is_near(need(demand, TARGETS)), 1)


ROOM = 131_072
BY_WORK: dict[str, tuple[Series, Demand]] = {
    "nothing was measured, and there is no engine": (gateway(3000.0), Demand(3000, 0, 0)),
    "an engine that nobody has used": (gateway() | engine("e-0", 21_000.0, 0.0, 0.0), Demand(21_000, 0, 0, ROOM)),
    "seconds of what it does": (gateway() | engine("e-0", 90_000.0, 90.0, 10_000.0), Demand(90_000, 9, 10_000, ROOM)),
    "half of a queue": (gateway() | engine("e-0", 90_000.0, 90.0, 1e6), Demand(90_000, 9, 1e6, ROOM)),
    "two engines with queues of two sizes": (
        gateway() | engine("e-0", 90_000.0, 90.0, 1e6) | engine("e-1", 90_000.0, 90.0, 1e6, 1000.0),
        Demand(180_000, 18, 1e6, (ROOM + 1000) / 2),
    ),
    "a new engine that has not said how much may wait": (
        gateway() | engine("e-0", 90_000.0, 90.0, 1e6) | engine("e-1", 0.0, 0.0, 0.0, 0.0),
        Demand(90_000, 9, 1e6, ROOM),
    ),
    "the rate tells": (gateway() | engine("e-0", 5.0, 90_000.0, 10_000.0), Demand(5, 9000, 10_000, ROOM)),
}


ACCELERATED = replace(MEASURED, accelerated=True, unmeasured_tokens=70_000)
MOST = 1000


def batches(tokens: float, count: float, pod: str = "e-0", most: float = MOST) -> Series:
    """So many tokens in so many batches, each step of the series."""
    return (
        of("engine_max_batch_tokens", pod, float(most))
        | of("engine_batch_tokens_sum", pod, f"0+{tokens!r}x{_STEPS}")
        | of("engine_batch_tokens_count", pod, f"0+{count!r}x{_STEPS}")
    )


BY_BATCHES: dict[str, tuple[Series, Demand]] = {
    "small ones, and a rate for which one engine would be too few": (
        gateway() | engine("e-0", 5.0, 90_000.0, 10_000.0) | batches(90_000.0, 2000.0),
        Demand(5, 9000, 10_000, ROOM, 45, MOST, 1),
    ),
    "small ones, and a rate for which one of two would do": (
        gateway() | engine("e-0", 5.0, 30_000.0, 10_000.0) | engine("e-1", 5.0, 0.0, 10_000.0) | batches(3e4, 1e3),
        Demand(10, 3000, 10_000, ROOM, 30, MOST, 2),
    ),
    "small ones, and more waits than was measured": (
        gateway() | engine("e-0", 60_000.0, 90_000.0, 10_000.0) | batches(90_000.0, 2000.0),
        Demand(60_000, 9000, 10_000, ROOM, 45, MOST, 1),
    ),
    "they are not small": (
        gateway() | engine("e-0", 60_000.0, 90_000.0, 10_000.0) | batches(90_000.0, 500.0),
        Demand(60_000, 9000, 10_000, ROOM, 180, MOST, 1),
    ),
    "small ones, and one of two engines goes": (
        gateway()
        | engine("e-0", 5.0, 90_000.0, 10_000.0)
        | engine("e-1", 5.0, 0.0, 10_000.0)
        | of("engine_draining", "e-0", 0.0)
        | of("engine_draining", "e-1", 1.0)
        | batches(90_000.0, 2000.0),
        Demand(10, 9000, 10_000, ROOM, 45, MOST, 1),
    ),
    "small ones, and one of two engines only starts": (
        gateway()
        | engine("e-0", 5.0, 90_000.0, 10_000.0)
        | engine("e-1", 0.0, 0.0, 0.0)
        | of("engine_up", "e-1", 0.0)
        | batches(90_000.0, 2000.0),
        Demand(5, 9000, 10_000, ROOM, 45, MOST, 1),
    ),
    "small for what may be in one, and not for what fills an accelerator": (
        gateway() | engine("e-0", 5.0, 90_000.0, 10_000.0) | batches(90_000.0, 75.0, most=32_768.0),
        Demand(5, 9000, 10_000, ROOM, 1200, 32_768, 1),
    ),
    "small for what fills an accelerator too": (
        gateway() | engine("e-0", 5.0, 90_000.0, 10_000.0) | batches(90_000.0, 90.0, most=32_768.0),
        Demand(5, 9000, 10_000, ROOM, 1000, 32_768, 1),
    ),
    "there were none": (
        gateway() | engine("e-0", 60_000.0, 90_000.0, 10_000.0) | batches(0.0, 0.0),
        Demand(60_000, 9000, 10_000, ROOM),
    ),
    "engines that do not tell of them": (
        gateway() | engine("e-0", 60_000.0, 90_000.0, 10_000.0),
        Demand(60_000, 9000, 10_000, ROOM),
    ),
    "nothing was measured, and there is no engine": (gateway(3000.0), Demand(3000, 0, 0)),
}


@pytest.mark.parametrize("name", BY_BATCHES)
def test_the_query_gives_the_need_of_the_formula_for_accelerators(tmp_path: Path, name: str) -> None:
    series, demand = BY_BATCHES[name]
    judge(tmp_path, series, is_near(need(demand, ACCELERATED), ACCELERATED), 1)


@pytest.mark.parametrize("name", BY_WORK)
def test_the_query_gives_the_need_of_the_formula_where_no_number_is_given(tmp_path: Path, name: str) -> None:
    series, demand = BY_WORK[name]
    judge(tmp_path, series, is_near(need(demand, MEASURED), MEASURED), 1)


def test_a_query_that_gives_another_number_is_seen(tmp_path: Path) -> None:
    series, demand = CASES["the rate tells"]
    with pytest.raises(AssertionError, match="FAILED"):
        judge(tmp_path, series, is_near(need(demand, TARGETS) + 0.01), 1)


@settings(max_examples=20, deadline=None)
@given(
    engines=st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**6), st.integers(1, 10**6)), max_size=4),
    held=st.integers(0, 10**6),
    batch=st.integers(1, 3000),
    most=st.sampled_from([0, MOST, 32_768]),
    targets=st.sampled_from([TARGETS, MEASURED, ACCELERATED]),
)
def test_it_does_so_for_any_demand(
    engines: list[tuple[int, int, int]],
    held: int,
    batch: int,
    most: int,
    targets: Targets,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    small = SMALL_BATCH * min(most, FULL_BATCH)
    assume(abs(batch - small) > 0.01)  # which Prometheus takes for smaller or larger
    series = gateway(float(held))
    for number, (queued, per_step, capacity) in enumerate(engines):
        name, tokens = f"e-{number}", float(per_step)
        series |= engine(name, float(queued), tokens, float(capacity)) | batches(tokens, tokens / batch, name, most)
    demand = Demand(
        held + sum(queued for queued, _, _ in engines),
        sum(per_step for _, per_step, _ in engines) / STEP_S,
        sum(capacity for _, _, capacity in engines) / len(engines) if engines else 0,
        ROOM if engines else 0,
        batch if any(per_step for _, per_step, _ in engines) else 0,
        most if engines else 0,
        len(engines),
    )
    judge(tmp_path_factory.mktemp("trial"), series, is_near(need(demand, targets), targets), 1)


BLIND: dict[str, Series] = {
    "nothing is scraped": of("engine_up", "x", 1.0, 'namespace="t",embedding_model="m"'),
    "engines are scraped and gateways are not": of("engine_up", "e-0", 1.0) | of("engine_queued_tokens", "e-0", 0.0),
    "gateways use engines that are not scraped": gateway()
    | of("gateway_endpoint_up", "g-0", 1.0, more=',engine="e-0"'),
}


@pytest.mark.parametrize("name", BLIND)
def test_what_is_not_seen_is_no_zero_and_gives_no_answer(tmp_path: Path, name: str) -> None:
    judge(tmp_path, BLIND[name], f"count({asked()}) or vector(0)", 0)
