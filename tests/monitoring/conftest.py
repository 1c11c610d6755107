"""A real Prometheus that scrapes the real programs under load: started once for all panels."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from monitorkit.api_server import ApiServer
from monitorkit.programs import fetching, load, model, pods, start_gateway, start_operator, tell_of
from monitorkit.prometheus import Prometheus, running, scrape_config
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


@pytest.fixture(scope="session")
def api_server() -> Iterator[ApiServer]:
    server = ApiServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def prometheus(
    starter: Starter,
    programs: Programs,
    minilm: Path,
    api_server: ApiServer,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Prometheus]:
    """It scrapes a gateway, an engine, an operator and a download, while requests come."""
    engine = starter.engine("--threads", "1")
    service = ("--engines-service", tell_of(api_server, engine), "--api-server", api_server.url)
    gateway = start_gateway(programs, minilm, *service)
    operator = start_operator(programs, api_server)
    with fetching(programs) as fetch, load(gateway.url, api_server):
        config = scrape_config(model(), pods(engine, gateway), [operator.target, fetch])
        with running(tmp_path_factory.mktemp("prometheus"), config) as prometheus:
            yield prometheus
