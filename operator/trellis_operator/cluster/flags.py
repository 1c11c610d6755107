"""The flags of `run`, and from them an `OperatorConfig`."""

import argparse
import os
import re
from importlib.metadata import version
from pathlib import Path

from trellis_operator.cluster import logs
from trellis_operator.cluster.config import Listen, OperatorConfig
from trellis_operator.desired.setting import Authentication
from trellis_operator.errors import OperatorError

_OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_AUTHENTICATIONS = ("TriggerAuthentication", "ClusterTriggerAuthentication")
_AUTH_MODES = {"bearer", "basic", "tls", "custom"}


def add_run_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags; each has a sentence."""
    add = parser.add_argument
    tag = version("trellis-serve")
    add(
        *("--namespace",),
        action="append",
        default=[],
        metavar="NS",
        help="Look after the models of this namespace; may be there several times. Default: those of all.",
    )
    add("--engine-image", default=f"trellis/tulip-rose:{tag}", metavar="IMAGE", help="Image of engines (%(default)s).")
    add("--gateway-image", default=f"trellis/ivy:{tag}", metavar="IMAGE", help="Image of gateways (%(default)s).")
    add(
        "--fetch-image",
        default=f"trellis/operator:{tag}",
        metavar="IMAGE",
        help="Image of what fetches models, which is this program's own (%(default)s).",
    )
    add(
        "--fetch-env",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="Environment of what fetches models, e.g. HF_ENDPOINT of a mirror; may be there several times.",
    )
    add("--image-pull-policy", choices=_PULL_POLICIES, default="IfNotPresent", help="Of all pods (%(default)s).")
    add(
        "--image-volumes",
        action="store_true",
        help="Mount image sources as volumes. Only where all nodes can; without it an init container copies them.",
    )
    add(
        "--prometheus-url",
        metavar="URL",
        help="Prometheus that scrapes models, as KEDA reaches it: autoscaling goes by it. A model may name its own.",
    )
    add(
        "--prometheus-authentication",
        metavar="KIND/NAME",
        help="TriggerAuthentication (one in each model's namespace) or ClusterTriggerAuthentication, with which KEDA "
        "asks --prometheus-url. Default: it asks without.",
    )
    add(
        "--prometheus-auth-modes",
        default="bearer",
        metavar="MODE,...",
        help="What is in it, of bearer, basic, tls and custom (%(default)s).",
    )
    _add_process_flags(parser)


def _add_process_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--listen-health", default="0.0.0.0:8081", metavar="HOST:PORT", help="/healthz and /readyz (%(default)s).")
    add("--listen-metrics", default="0.0.0.0:9100", metavar="HOST:PORT", help="/metrics (%(default)s).")
    add(
        "--leader-election",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="Take a Lease before anything is written, and write nothing once it is lost.",
    )
    add("--lease-namespace", metavar="NS", help="Where the Lease lies. Default: this pod's namespace, else `default`.")
    add("--workers", type=int, default=8, metavar="N", help="Models that are visited at once (%(default)s).")
    add(
        "--resync-seconds",
        type=int,
        default=60,
        metavar="S",
        help="Visit each model after this long, whatever was told; a rotated Secret is seen by then (%(default)s).",
    )
    add("--log-level", choices=logs.LEVELS, default="info", help="Least important lines to log (%(default)s).")
    add("--log-format", choices=logs.FORMATS, default="text", help="Lines for people, or JSON (%(default)s).")


def operator_config(said: argparse.Namespace) -> OperatorConfig:
    """Check the flags together.

    Raises:
        OperatorError: names the flag.
    """
    return OperatorConfig(
        namespaces=tuple(dict.fromkeys(said.namespace)),
        engine_image=said.engine_image,
        gateway_image=said.gateway_image,
        fetch_image=said.fetch_image,
        fetch_env=tuple(_variable(each) for each in said.fetch_env),
        image_pull_policy=said.image_pull_policy,
        image_volumes=said.image_volumes,
        prometheus_url=said.prometheus_url,
        prometheus_authentication=_authentication(said.prometheus_authentication, said.prometheus_auth_modes),
        listen_health=Listen.parse(said.listen_health, "--listen-health"),
        listen_metrics=Listen.parse(said.listen_metrics, "--listen-metrics"),
        leader_election=said.leader_election,
        lease_namespace=said.lease_namespace or _own_namespace(),
        workers=said.workers,
        resync_s=said.resync_seconds,
        log_level=said.log_level,
        log_format=said.log_format,
    )


def _authentication(text: str | None, modes: str) -> Authentication | None:
    if text is None:
        return None
    kind, slash, name = text.partition("/")
    if kind not in _AUTHENTICATIONS or not slash or not re.fullmatch(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?", name):
        raise OperatorError(
            f"--prometheus-authentication: {text!r} is not {' or '.join(_AUTHENTICATIONS)}, /, and a name"
        )
    found = tuple(modes.split(","))
    if not set(found) <= _AUTH_MODES:
        raise OperatorError(f"--prometheus-auth-modes: {modes!r} is not of {', '.join(sorted(_AUTH_MODES))}")
    return Authentication(kind, name, found)


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise OperatorError(f"--fetch-env: {text!r} is not NAME=VALUE")
    return name, value


def _own_namespace() -> str:
    if _OWN_NAMESPACE.is_file():
        return _OWN_NAMESPACE.read_text(encoding="utf-8").strip()
    return os.environ.get("POD_NAMESPACE", "default")
