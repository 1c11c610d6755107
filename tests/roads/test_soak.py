"""Memory stays flat under mixed load in all three programs: the short form of `python -m bench.soak`."""

from random import Random

import pytest
from monitorkit.changing import changing
from roadkit.program import Programs

from bench.flatness import Flatness, Sample
from bench.soak import ROLES, WARM_SHARE, request, soak

_SECONDS = 40.0
_GROWTH_SHARE = 0.05
"""More than over ten minutes: allocators still find their size."""


def line(start: float, per_second: float, noise: float = 0.0) -> list[Sample]:
    random = Random(1)
    return [Sample(second, start + per_second * second + random.uniform(-noise, noise)) for second in range(100)]


@pytest.mark.processes
def test_memory_stays_flat_under_mixed_load_and_that_of_an_operator_whose_model_changes_all_the_time(
    programs: Programs,
) -> None:
    with changing(programs) as of_operator:
        soaked = soak(_SECONDS)
    assert set(soaked.statuses) <= {0, 200, 400, 404, 422, 429}, soaked.statuses
    assert soaked.statuses[200] >= 50
    assert soaked.statuses[404]
    flatness = soaked.flatness(_GROWTH_SHARE)
    assert set(flatness) == set(ROLES)
    assert all(each.flat for each in flatness.values()), flatness
    assert len(of_operator) >= _SECONDS
    found = Flatness.of(of_operator, of_operator[-1].seconds * WARM_SHARE, _GROWTH_SHARE)
    assert found.flat, found


def test_what_grows_is_not_flat_and_what_shakes_is() -> None:
    assert Flatness.of(line(100, 0, noise=2), 10, 0.02).flat
    assert Flatness.of(line(100, -0.5), 10, 0.02).flat
    assert not Flatness.of(line(100, 0.05, noise=1), 10, 0.02).flat
    assert Flatness.of(line(100, 0.01), 10, 0.02).flat


def test_one_peak_does_not_bend_the_slope_and_the_beginning_does_not_count() -> None:
    samples = line(100, 0)
    samples[99] = Sample(99, 1000)
    assert Flatness.of(samples, 10, 0.02).growth_mib == 0
    warming = [Sample(each.seconds, min(each.seconds, 10.0) + 90) for each in samples]
    assert Flatness.of(warming, 10, 0.02).growth_mib == 0


def test_the_load_has_many_kinds() -> None:
    random = Random(0)
    made = [request(random) for _ in range(500)]
    assert len({path for path, _, _ in made}) > 5
    assert len({body["model"] for _, body, _ in made}) > 10
    assert min(patience for _, _, patience in made) < 0.1
