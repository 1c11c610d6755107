"""A real Prometheus that scrapes a gateway, an engine, an operator and a download at work."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2ekit.prometheus import Prometheus, running
from monitorkit.api_server import ApiServer
from monitorkit.programs import fetching, load, model, pods, start_gateway, start_operator, tell_of
from monitorkit.targets import scrape_config
from roadkit.program import Programs
from roadkit.stack import Starter


@contextmanager
def at_work(
    starter: Starter, programs: Programs, minilm: Path, api_server: ApiServer, folder: Path
) -> Iterator[Prometheus]:
    """While inside, requests come and all four are scraped; whoever made `programs` stops them."""
    engine = starter.engine("--threads", "1")
    service = ("--engines-service", tell_of(api_server, engine), "--api-server", api_server.url)
    gateway = start_gateway(programs, minilm, *service)
    operator = start_operator(programs, api_server)
    with fetching(programs) as fetch, load(gateway.url, api_server):
        config = scrape_config(model(), pods(engine, gateway), [operator.target, fetch])
        with running(folder, config) as prometheus:
            prometheus.wait_up(4)
            yield prometheus
