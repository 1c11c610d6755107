"""`Gateway`: all parts of one gateway, put together. The only file that knows them all."""

import asyncio
import time
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Protocol

from aiohttp import web

from ivy.admission import Admission
from ivy.client.engines import Engines
from ivy.client.fixed_set import FixedSet
from ivy.client.nearby import Nearby
from ivy.client.target import Target
from ivy.cluster.api import SliceApi
from ivy.cluster.follower import Follower
from ivy.cluster.neighbourhood import Neighbourhood
from ivy.config import Config
from ivy.errors import leaves
from ivy.hold import Hold
from ivy.keys import Keyring
from ivy.late import Late
from ivy.late_files import read_late
from ivy.life import Life
from ivy.logs import AccessLog
from ivy.metrics import Metrics
from ivy.middleware import Around
from ivy.model_files import facts_for, prompts_for, texts_of
from ivy.scoring.by_vectors import ByVectors
from ivy.scoring.model import scoring_model_of
from ivy.scoring.service import ScoringService
from ivy.service import EmbeddingService
from ivy.surfaces.document import document
from ivy.surfaces.parts import Parts
from ivy.surfaces.registry import PATHS, ROUTES, SURFACES, handlers
from ivy.tokenize.pool import TokenizerPool
from ivy.tokenize.tokenizer import Tokenizer
from ivy.tokens import Tokens

if TYPE_CHECKING:
    from ivy.traces import Traces

BODIES_IN_FLIGHT = 4
"""Of the longest kind: what the memory of a gateway must have room for."""


class Discovery(Protocol):
    """Whoever knows the set of engines."""

    async def run(self) -> None:
        """Tell the set whenever it changes, until cancelled."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """One gateway, not yet listening."""

    app: web.Application
    engines: Engines
    pool: TokenizerPool
    life: Life
    hold: Hold
    discovery: Discovery
    """Tells `engines` which ones there are."""
    traces: "Traces | None"
    """Where requests are traced."""

    async def close(self) -> None:
        """End what works behind the server."""
        await self.engines.close()
        self.pool.close()
        if self.traces is not None:
            await asyncio.to_thread(self.traces.close)


def build(config: Config) -> Gateway:
    """Put a gateway together. Needs a running event loop.

    Raises:
        ConfigError: a file of the model is missing or wrong.
    """
    prompts = prompts_for(config.model, config.embedding)
    late_file = read_late(config.model)
    tokenizer = Tokenizer.load(config.model, late_file.prefixes if late_file else ())
    pool = TokenizerPool(tokenizer, config.tokenizer_threads)
    statuses = {200, *(leaf.status for leaf in leaves())}
    metrics = Metrics(PATHS, sorted(statuses), exemplars=config.trace_endpoint is not None)
    metrics.tokenizes(pool.tokenizer.fallback)
    engines = Engines(config, metrics, texts=texts_of(config.model))
    hold = Hold(config, engines, metrics)
    admission = Admission(BODIES_IN_FLIGHT * config.max_body_bytes, metrics, time.monotonic)
    life = Life()
    facts = facts_for(config.model)
    late = Late.of(late_file, tokenizer, config.model)
    service = EmbeddingService(config, prompts, facts, late, pool, hold, admission, metrics)
    model = scoring_model_of(config.model, config.embedding.scoring, prompts, pool)
    scoring = ScoringService(config, model, ByVectors(service), hold, admission, metrics)
    described = document(SURFACES, version("trellis-serve"), config.served_names[0], with_keys=bool(config.api_keys))
    tokens = Tokens(pool, prompts, config.served_names)
    parts = Parts(config, service, tokens, scoring, engines, hold, admission, life, metrics, described)
    traces = _traces(config, metrics)
    access_log = AccessLog(config.log_level, config.log_format)
    around = Around(ROUTES, Keyring(config.api_keys), life, metrics, access_log, traces)
    metrics.requests_in_flight.set_function(lambda: float(life.under_way))
    app = web.Application(middlewares=[around.middleware()])
    app.add_routes(handlers(parts))
    return Gateway(app, engines, pool, life, hold, _discovery(config, engines, metrics), traces)


def _traces(config: Config, metrics: Metrics) -> "Traces | None":
    """Nothing of OpenTelemetry is imported where nothing is traced."""
    if config.trace_endpoint is None:
        return None
    from ivy.traces import Traces

    return Traces.open(config, config.trace_endpoint, metrics)


def _discovery(config: Config, engines: Engines, metrics: Metrics) -> Discovery:
    if config.engines_service is None or config.api_server is None:
        return FixedSet([Target(str(address)) for address in config.engines], engines.replace)
    nearby = Nearby(config, engines, metrics.connected())
    of_engines = Follower(SliceApi(config.api_server, config.engines_service), nearby.know, metrics.discovery())
    of_gateways = None
    if config.gateways_service is not None:
        api = SliceApi(config.api_server, config.gateways_service)
        of_gateways = partial(Follower, api, nearby.meet, metrics.peers())
    return Neighbourhood(nearby, of_engines, of_gateways)
