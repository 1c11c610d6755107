"""`Config`: everything that the serving process can be told, checked. Built once, before anything heavy is imported."""

import math
from dataclasses import dataclass, field
from pathlib import Path

from trellis_wire.tracing.endpoint import endpoint_flaw

from tulip_rose.rose.card import ModelCard
from tulip_rose.rose.options import DEVICES, DTYPES, GRAPHS_ON_CPU, EngineOptions
from tulip_rose.tulip.embedding import EmbeddingOverrides
from tulip_rose.tulip.errors import ConfigError
from tulip_rose.tulip.graph_config import GraphConfig

LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("json", "text")


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen."""

    host: str
    port: int
    """0: one that is free."""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read `HOST:PORT`; an IPv6 host may stand in brackets.

        Raises:
            ConfigError: there is no host, or the port is not 0 to 65535.
        """
        host, _, port = text.rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ConfigError(f"{text!r} is not HOST:PORT")
        return cls(host, int(port))


@dataclass(frozen=True, slots=True)
class Budgets:
    """How much work is taken at a time, in tokens."""

    max_batch_tokens: int
    max_queued_tokens: int


@dataclass(frozen=True, slots=True)
class Config:
    """One serving process."""

    model: Path
    """Folder with config.json, safetensors and the sentence-transformers files."""
    name: str
    """Name that `Info` and the metrics give the model."""
    listen: Address = Address("127.0.0.1", 50051)
    """Of gRPC."""
    metrics_listen: Address = Address("127.0.0.1", 9101)
    """Of HTTP /metrics."""
    dtype: str = "float32"
    """Of weights and activations."""
    device: str = "auto"
    """auto takes CUDA where it is; cpu-graphs is for tests of what graphs do on a GPU."""
    threads: int = 0
    """CPU threads of one step; 0: all cores."""
    attention_backend: str = "auto"
    """auto, or one that the device has."""
    model_digest: str | None = None
    """Digest to report; None: ROSE makes one."""
    embedding: EmbeddingOverrides = field(default_factory=EmbeddingOverrides)
    """What stands above the model's own files."""
    graphs: GraphConfig = field(default_factory=GraphConfig)
    """Of a device that has graphs, and of the warm-up."""
    max_batch_tokens: int | None = None
    """Tokens of one batch; None: by device, see `budgets`."""
    max_queued_tokens: int | None = None
    """Tokens that may wait; None: by device, see `budgets`."""
    drain_delay_s: float = 0.0
    """From the signal to stop until new calls are refused: time for balancers to look elsewhere."""
    drain_timeout_s: float = 60.0
    """How long accepted calls may take to finish after that."""
    stuck_after_s: float = 60.0
    """A step that runs longer has hung: liveness fails."""
    log_level: str = "info"
    """Least important lines to print."""
    log_format: str = "text"
    """How they are written."""
    trace_endpoint: str | None = None
    """Where traces go; None: nothing is traced."""

    def __post_init__(self) -> None:
        if not self.model.is_dir():
            raise ConfigError(f"--model: {self.model} is not a folder")
        _check_choice("--dtype", self.dtype, DTYPES)
        _check_choice("--device", self.device, (*DEVICES, GRAPHS_ON_CPU))
        _check_choice("--log-level", self.log_level, LOG_LEVELS)
        _check_choice("--log-format", self.log_format, LOG_FORMATS)
        _check_at_least("--threads", self.threads, 0)
        _check_at_least("--max-batch-tokens", self.max_batch_tokens, 1)
        _check_at_least("--max-queued-tokens", self.max_queued_tokens, 1)
        _check_at_least("--drain-delay-seconds", self.drain_delay_s, 0)
        _check_at_least("--drain-timeout-seconds", self.drain_timeout_s, 0)
        if not self.stuck_after_s > 0:
            raise ConfigError(f"--stuck-after-seconds: {self.stuck_after_s} is not above 0")
        flaw = endpoint_flaw(self.trace_endpoint) if self.trace_endpoint is not None else None
        if flaw:
            raise ConfigError(f"--trace-endpoint: {flaw}")

    def engine_options(self) -> EngineOptions:
        """What of this is the engine's."""
        return EngineOptions(
            dtype=self.dtype,
            device=self.device,
            threads=self.threads,
            attention_backend=self.attention_backend,
            model_digest=self.model_digest,
            pooling=self.embedding.pooling,
            normalize=self.embedding.normalize,
            allowed_dimensions=self.embedding.allowed_dimensions,
            max_input_tokens=self.embedding.max_input_tokens,
            scores=self.embedding.scores,
            graphs=self.graphs.options(self.max_batch_tokens),
        )


def budgets(config: Config, card: ModelCard) -> Budgets:
    """Settle what depends on the device and the model.

    On a CPU matrix products are as efficient with 512 tokens as with more, and whoever arrives meanwhile waits for no
    more than two such batches; a GPU needs 16384 to fill its cores. A batch holds at least the longest text of the
    model, and the queue at least one batch, so that no text can be refused for ever.
    """
    batch, batches = (512, 256) if card.device.startswith("cpu") else (16384, 64)
    batch = max(config.max_batch_tokens or batch, card.max_input_tokens)
    return Budgets(batch, max(config.max_queued_tokens or batches * batch, batch))


def _check_choice(flag: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{flag}: {value!r} is not one of {', '.join(known)}")


def _check_at_least(flag: str, value: float | None, least: int) -> None:
    if value is not None and not (value >= least and math.isfinite(value)):
        raise ConfigError(f"{flag}: {value} is not a finite number of at least {least}")
