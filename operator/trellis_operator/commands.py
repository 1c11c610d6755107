"""From a spec to the arguments of its programs: the same here and in the containers. Pure.

What depends on where a program runs (addresses, folders, device) comes in as a place; what the manifest
says comes from the spec. Never knows a process or a pod.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trellis_operator.graphs_spec import Graphs
from trellis_operator.spec import EmbeddingModel


@dataclass(frozen=True)
class Place:
    """Where any program runs.

    Attributes:
        model_folder: of the weights and the tokenizer.
        embedding_file: `spec.embedding` as JSON.
        model_digest: of the model that is served.
        listen: HOST:PORT that the program answers on.
        drain_delay_s: between being unready and refusing work.
    """

    model_folder: str
    embedding_file: str
    model_digest: str
    listen: str
    drain_delay_s: int


@dataclass(frozen=True)
class EnginePlace(Place):
    """Where an engine runs.

    Attributes:
        metrics_listen: HOST:PORT of its metrics.
        device: cpu, cuda, auto or cpu-graphs.
        threads: of the CPU; 0 takes all cores.
    """

    metrics_listen: str
    device: str
    threads: int


@dataclass(frozen=True)
class GatewayPlace(Place):
    """Where a gateway runs.

    Attributes:
        engines: HOST:PORT of each engine, where they are known by address.
        engines_service: NAMESPACE/NAME of the Service that has them, where a cluster knows them; else None.
        gateways_service: the same of the gateways.
        api_keys_file: the accepted keys; None asks for no key.
    """

    engines: Sequence[str]
    engines_service: str | None
    gateways_service: str | None
    api_keys_file: str | None


def engine_command(model: EmbeddingModel, place: EnginePlace) -> list[str]:
    """The arguments that a Python interpreter gets to be an engine of `model`."""
    return [
        *("-m", "tulip_rose", "serve"),
        *("--name", model.model.served_names[0]),
        *("--metrics-listen", place.metrics_listen),
        *("--dtype", model.model.dtype),
        *("--device", place.device),
        *("--threads", str(place.threads)),
        *("--attention-backend", model.engine.attention_backend),
        *_given("--max-batch-tokens", model.engine.max_batch_tokens),
        *_warmup(model),
        *_everywhere(model, place),
    ]


def gateway_command(model: EmbeddingModel, place: GatewayPlace) -> list[str]:
    """The arguments that a Python interpreter gets to be a gateway of `model`."""
    names = [part for name in model.model.served_names for part in ("--served-name", name)]
    return [
        *("-m", "ivy", "serve"),
        *names,
        *_engines(model, place),
        *_hold(model, place),
        *("--retry-budget-percent", str(model.gateway.retry_budget_percent)),
        *("--slow-start-seconds", str(model.gateway.slow_start_s)),
        *_given("--max-queued-tokens", model.gateway.max_queued_tokens),
        *_given("--api-keys-file", place.api_keys_file),
        *_given("--trace-sample-percent", f"{model.tracing.sample_percent:g}" if model.tracing else None),
        *_everywhere(model, place),
    ]


def _engines(model: EmbeddingModel, place: GatewayPlace) -> list[str]:
    if place.engines_service is None:
        return ["--engines", ",".join(place.engines)]
    return [
        *("--engines-service", place.engines_service),
        *_given("--gateways-service", place.gateways_service),
        *("--max-engines", str(model.gateway.max_engines)),
    ]


def _hold(model: EmbeddingModel, place: GatewayPlace) -> list[str]:
    """Only where somebody brings an engine back: on one machine nobody does."""
    if not model.engine.wakes or place.engines_service is None:
        return []
    gateway = model.gateway
    return ["--hold-seconds", str(gateway.hold_s), "--max-held-tokens", str(gateway.max_held_tokens)]


def _warmup(model: EmbeddingModel) -> list[str]:
    """What happens before an engine gets ready. Graphs are an accelerator's: on a CPU nothing is said of them."""
    engine = model.engine
    timeout = ["--warmup-timeout-seconds", str(engine.ready_timeout_s)]
    if not engine.accelerated:
        return timeout
    return [*timeout, "--warmup-verify" if engine.verify else "--no-warmup-verify", *_graphs(engine.graphs)]


def _graphs(graphs: Graphs) -> list[str]:
    if graphs.off:
        return ["--graphs", graphs.mode]
    prewarm = ",".join(f"{tokens}x{slots}" for tokens, slots in graphs.prewarm)
    return [
        *("--graphs", graphs.mode),
        *("--graph-token-multiple", str(graphs.token_multiple)),
        *("--graph-slots", ",".join(map(str, graphs.slots))),
        *_given("--graph-prewarm", prewarm or None),
        *("--graph-capture-failure", graphs.on_capture_failure),
    ]


def _everywhere(model: EmbeddingModel, place: Place) -> list[str]:
    return [
        *("--model", place.model_folder),
        *("--listen", place.listen),
        *("--embedding", place.embedding_file),
        *("--model-digest", place.model_digest),
        *("--drain-delay-seconds", str(place.drain_delay_s)),
        *("--drain-timeout-seconds", str(model.engine.drain_timeout_s)),
        *_given("--trace-endpoint", model.tracing.endpoint if model.tracing else None),
    ]


def _given(flag: str, value: object) -> list[str]:
    return [] if value is None else [flag, str(value)]
