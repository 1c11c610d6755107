"""`Config`: everything that the gateway process can be told, checked. Built once, before anything heavy is imported."""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from trellis_wire.tracing.endpoint import endpoint_flaw

from ivy.embedding import EmbeddingRules
from ivy.errors import ConfigError

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("json", "text")


@dataclass(frozen=True, slots=True)
class Address:
    """A TCP address to listen on or to call."""

    host: str
    port: int
    """0, to listen on only: one that is free."""

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str, flag: str) -> "Address":
        """Read `HOST:PORT`; an IPv6 host may stand in brackets.

        Raises:
            ConfigError: there is no host, or the port is not 0 to 65535.
        """
        host, _, port = text.strip().rpartition(":")
        host = host.removeprefix("[").removesuffix("]")
        if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise ConfigError(f"{flag}: {text!r} is not HOST:PORT")
        return cls(host, int(port))


@dataclass(frozen=True, slots=True)
class ServiceName:
    """A Service of a cluster."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @classmethod
    def parse(cls, text: str, flag: str) -> "ServiceName":
        """Read `NAMESPACE/NAME`.

        Raises:
            ConfigError: it is not two names that a cluster would take.
        """
        namespace, _, name = text.strip().partition("/")
        if not _LABEL.fullmatch(namespace) or not _LABEL.fullmatch(name):
            raise ConfigError(f"{flag}: {text!r} is not NAMESPACE/NAME")
        return cls(namespace, name)


@dataclass(frozen=True, slots=True)
class ApiServer:
    """A cluster's API server, and how to be believed there."""

    url: str
    """http:// or https://, with host and port."""
    ca_file: Path | None = None
    """Certificates that vouch for it; None: those that the system trusts."""
    token_file: Path | None = None
    """Read before each request, for the token in it is replaced from time to time. None: no token is sent."""


@dataclass(frozen=True, slots=True)
class Config:
    """One gateway process."""

    model: Path
    """Folder with tokenizer.json and the sentence-transformers files."""
    served_names: tuple[str, ...]
    """Names that `model` of a request may give."""
    engines: tuple[Address, ...] = ()
    """Where the engines listen; empty where `engines_service` says it."""
    engines_service: ServiceName | None = None
    """The Service whose endpoints are the engines."""
    gateways_service: ServiceName | None = None
    """The Service whose endpoints are the gateways of the same model, this one among them."""
    gateway_name: str = ""
    """Of this one's pod."""
    max_engines: int = 300
    """To be connected to at a time, of those of `engines_service`."""
    api_server: ApiServer | None = None
    """Where the endpoints of `engines_service` and `gateways_service` are read."""
    listen: Address = Address("127.0.0.1", 8080)
    """Of HTTP."""
    embedding: EmbeddingRules = field(default_factory=EmbeddingRules)
    """What stands above the model's own files."""
    model_digest: str | None = None
    """The only digest to use; None: that of the first engine that is ready."""
    api_keys: tuple[bytes, ...] = field(default=(), repr=False)
    """Keys that open the API; none: it is open."""
    max_queued_tokens: int = 0
    """Tokens of accepted requests that wait or are worked on; 0: what the ready engines say that they queue."""
    max_body_bytes: int = 16 * 1024 * 1024
    """Longest body."""
    max_inputs: int = 2048
    """Inputs of one request."""
    chunk_tokens: int = 0
    """Tokens of one call to an engine; 0: what an engine says that it takes in one batch."""
    request_timeout_s: float = 300.0
    """From the first byte to the last vector."""
    retry_budget_percent: float = 10.0
    """Calls to engines, in percent, that may be asked again elsewhere."""
    hold_s: float = 0.0
    """How long a request may wait while there is no engine; 0: it is refused at once."""
    max_held_tokens: int = 100_000
    """Tokens of the requests that wait so."""
    slow_start_s: float = 10.0
    """How long a new or returned engine takes to get its full share; 0: it has it at once."""
    tokenizer_threads: int = 2
    """Threads for texts that are too long for the event loop."""
    drain_delay_s: float = 0.0
    """From the signal to stop until connections are refused: time for balancers to look elsewhere."""
    drain_timeout_s: float = 60.0
    """How long accepted requests may take to finish after that."""
    log_level: str = "info"
    """Least important lines to print."""
    log_format: str = "json"
    """How they are written."""
    trace_endpoint: str | None = None
    """Where traces go; None: nothing is traced."""
    trace_sample_percent: float = 1.0
    """Requests to trace of callers that do not decide it themselves."""

    def __post_init__(self) -> None:
        """Refuse values that no flag could mean."""
        for flag, count, least in (
            ("--max-queued-tokens", self.max_queued_tokens, 0),
            ("--max-held-tokens", self.max_held_tokens, 1),
            ("--max-engines", self.max_engines, 1),
            ("--max-body-bytes", self.max_body_bytes, 1024),
            ("--max-inputs", self.max_inputs, 1),
            ("--chunk-tokens", self.chunk_tokens, 0),
            ("--tokenizer-threads", self.tokenizer_threads, 1),
        ):
            if count < least:
                raise ConfigError(f"{flag}: {count} is below {least}")
        for flag, value, most in (
            ("--request-timeout-seconds", self.request_timeout_s, 86400.0),
            ("--retry-budget-percent", self.retry_budget_percent, 100.0),
            ("--hold-seconds", self.hold_s, 86400.0),
            ("--trace-sample-percent", self.trace_sample_percent, 100.0),
            ("--slow-start-seconds", self.slow_start_s, 3600.0),
            ("--drain-delay-seconds", self.drain_delay_s, 86400.0),
            ("--drain-timeout-seconds", self.drain_timeout_s, 86400.0),
        ):
            if not math.isfinite(value) or not 0 <= value <= most:
                raise ConfigError(f"{flag}: {value} is not between 0 and {most:g}")
        if self.request_timeout_s == 0:
            raise ConfigError("--request-timeout-seconds: 0 leaves no time for an answer")
        flaw = endpoint_flaw(self.trace_endpoint) if self.trace_endpoint is not None else None
        if flaw:
            raise ConfigError(f"--trace-endpoint: {flaw}")
        _check_names(self.served_names)
        _check_engines(self.engines)


def _check_names(names: tuple[str, ...]) -> None:
    for name in names:
        if not name or not name.isprintable() or name != name.strip():
            raise ConfigError(f"--served-name: {name!r} is not a name")


def _check_engines(engines: tuple[Address, ...]) -> None:
    for address in engines:
        if address.port == 0:
            raise ConfigError(f"--engines: {address} has port 0, which nobody can call")
    if len(set(engines)) != len(engines):
        raise ConfigError("--engines: an address stands there twice")
