"""A real Prometheus that scrapes the real programs under load: started once for all that asks it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from e2ekit.prometheus import Prometheus
from monitorkit.api_server import ApiServer
from monitorkit.at_work import at_work
from roadkit.program import Programs
from roadkit.stack import Starter


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    """Every child process of the session; those that live at the end are stopped."""
    programs = Programs(tmp_path_factory.mktemp("programs"))
    yield programs
    programs.stop()


@pytest.fixture(scope="session")
def starter(programs: Programs, minilm: Path) -> Starter:
    """Starts gateways and engines."""
    return Starter(programs, minilm)


@pytest.fixture(scope="module")
def api_server() -> Iterator[ApiServer]:
    server = ApiServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def prometheus(
    starter: Starter,
    programs: Programs,
    minilm: Path,
    api_server: ApiServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Prometheus]:
    """It scrapes a gateway, an engine, an operator and a download, while requests come.

    Not of the session, which goes on for long: their load would take a processor from all tests that follow.
    """
    with at_work(starter, programs, minilm, api_server, tmp_path_factory.mktemp("prometheus")) as prometheus:
        yield prometheus
