"""A real Prometheus that scrapes a gateway, an engine, an operator and a download at work."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from e2ekit.prometheus import Prometheus, running
from monitorkit.api_server import ApiServer
from monitorkit.programs import fetching, load, model, pods, start_gateway, start_operator, tell_of
from monitorkit.targets import scrape_config
from roadkit.collector import collecting
from roadkit.program import Programs
from roadkit.stack import Engine, Starter

_GRAPHS = ("--device", "cpu-graphs", "--graph-prewarm", "64x2,512x8")


@contextmanager
def at_work(
    starter: Starter, programs: Programs, minilm: Path, api_server: ApiServer, folder: Path
) -> Iterator[Prometheus]:
    """While inside, requests come and all four are scraped."""
    with collecting() as collector, fetching(programs) as fetch:
        traced = ("--trace-endpoint", collector.endpoint)
        engine = starter.engine("--threads", "1", *_GRAPHS, *traced)
        gateway = start_gateway(programs, minilm, *_found(api_server, engine), *traced, "--trace-sample-percent", "50")
        operator = start_operator(programs, api_server)
        config = scrape_config(model(), pods(engine, gateway), [operator.target, fetch])
        with load(gateway.url, api_server), running(folder, config) as prometheus:
            prometheus.wait_up(4)
            yield prometheus
        programs.stop(gateway.program, engine.program, operator.program)


def _found(api_server: ApiServer, engine: Engine) -> tuple[str, ...]:
    service = tell_of(api_server, engine)
    return ("--engines-service", service, "--gateways-service", service, "--api-server", api_server.url)
