"""What the operator process can be told. Built once, from flags."""

import re
from dataclasses import dataclass

from trellis_operator.desired.setting import Authentication
from trellis_operator.errors import OperatorError


@dataclass(frozen=True)
class Listen:
    """A TCP address to listen on."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, flag: str) -> "Listen":
        """Read `HOST:PORT`.

        Raises:
            OperatorError: it is not one.
        """
        host, _, port = text.rpartition(":")
        if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
            raise OperatorError(f"{flag}: {text!r} is not HOST:PORT")
        return cls(host.removeprefix("[").removesuffix("]"), int(port))


@dataclass(frozen=True)
class OperatorConfig:
    """One operator process."""

    namespaces: tuple[str, ...]
    """Whose models are looked after; none: those of all."""
    engine_image: str
    """Of engines."""
    gateway_image: str
    """Of gateways."""
    fetch_image: str
    """Of what fetches models: this program's own image."""
    fetch_env: tuple[tuple[str, str], ...]
    """Environment of what fetches models: names and values."""
    image_pull_policy: str
    """Always, IfNotPresent or Never."""
    image_volumes: bool
    """Whether nodes mount container images as volumes."""
    prometheus_url: str | None
    """Of the Prometheus that scrapes models, for those that are autoscaled; None: each must name its own."""
    prometheus_authentication: Authentication | None
    """How KEDA shows it who it is; None: it asks for nothing."""
    listen_health: Listen
    """Of /healthz and /readyz."""
    listen_metrics: Listen
    """Of /metrics."""
    leader_election: bool
    """Whether the Lease is taken before anything is written."""
    lease_namespace: str
    """Where the Lease lies."""
    workers: int
    """Visits at once."""
    resync_s: int
    """After this long each model is visited, whatever was told: so a rotated Secret is seen."""
    log_level: str
    log_format: str

    def __post_init__(self) -> None:
        """Refuse values that no operator could run with."""
        for flag, image in (
            ("--engine-image", self.engine_image),
            ("--gateway-image", self.gateway_image),
            ("--fetch-image", self.fetch_image),
        ):
            if not image or image != image.strip() or " " in image:
                raise OperatorError(f"{flag}: {image!r} is not an image")
        if self.prometheus_url is not None and not re.fullmatch(r"https?://\S+", self.prometheus_url):
            raise OperatorError(f"--prometheus-url: {self.prometheus_url!r} is not a URL of http or https")
        if self.prometheus_authentication is not None and self.prometheus_url is None:
            raise OperatorError("--prometheus-authentication is for --prometheus-url")
        for flag, value, least, most in (
            ("--workers", self.workers, 1, 64),
            ("--resync-seconds", self.resync_s, 5, 86400),
        ):
            if not least <= value <= most:
                raise OperatorError(f"{flag}: {value} is not from {least} to {most}")
