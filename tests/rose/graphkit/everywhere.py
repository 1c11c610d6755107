"""The mark of a test that has to hold on a GPU as it does on a CPU."""

import pytest
from tulip_rose.rose.options import GRAPHS_ON_CPU

EVERYWHERE = pytest.mark.parametrize("where", [GRAPHS_ON_CPU, pytest.param("cuda", marks=pytest.mark.gpu)])
