"""The flags of `serve`, and from them a `Config`. Knows nothing that is slow to import."""

import argparse
import socket
from dataclasses import fields
from pathlib import Path
from typing import Any

from ivy.cluster.access import api_server
from ivy.config import LOG_FORMATS, LOG_LEVELS, Address, Config, ServiceName
from ivy.embedding import EmbeddingRules, read_rules
from ivy.errors import ConfigError
from ivy.keys import read_keys

_DEFAULTS: dict[str, Any] = {each.name: each.default for each in fields(Config)}


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    whole = argparse.ArgumentParser(prog="python -m ivy", description="The gateway of Trellis: embeddings over HTTP.")
    serve = whole.add_subparsers(metavar="COMMAND", required=True).add_parser(
        "serve",
        help="serve a model's embeddings over HTTP",
        description="Serve a model's embeddings over HTTP until SIGTERM or SIGINT; then answer what was accepted.",
    )
    _add_model(serve)
    _add_network(serve)
    _add_limits(serve)
    _add_life(serve)
    _add_telling(serve)
    return whole


def config_of(arguments: argparse.Namespace) -> Config:
    """Check the flags together.

    Raises:
        ConfigError: names the flag, or the file and its field.
    """
    given = {key: value for key, value in vars(arguments).items() if key in _DEFAULTS and value is not None}
    given["model"] = Path(arguments.model)
    if not given["model"].is_dir():
        raise ConfigError(f"--model: {arguments.model} is not a folder")
    given["served_names"] = tuple(dict.fromkeys(arguments.served_name))
    given |= _engines(arguments)
    given["listen"] = Address.parse(arguments.listen, "--listen")
    given["embedding"] = read_rules(Path(arguments.embedding)) if arguments.embedding else EmbeddingRules()
    if arguments.api_keys_file:
        given["api_keys"] = read_keys(Path(arguments.api_keys_file))
    return Config(**given)


def _engines(arguments: argparse.Namespace) -> dict[str, Any]:
    """Where the engines are: named one by one, or found through a cluster."""
    if arguments.engines is not None:
        for flag, value in (("api-server", arguments.api_server), ("gateways-service", arguments.gateways_service)):
            if value is not None:
                raise ConfigError(f"--{flag} is for --engines-service, and --engines needs none")
        return {"engines": tuple(Address.parse(text, "--engines") for text in arguments.engines.split(","))}
    gateways = arguments.gateways_service
    return {
        "engines_service": ServiceName.parse(arguments.engines_service, "--engines-service"),
        "gateways_service": None if gateways is None else ServiceName.parse(gateways, "--gateways-service"),
        "gateway_name": arguments.gateway_name or socket.gethostname(),
        "api_server": api_server(arguments.api_server, arguments.api_server_ca_file, arguments.api_server_token_file),
    }


def _add_model(serve: argparse.ArgumentParser) -> None:
    serve.add_argument(
        "--model",
        required=True,
        metavar="DIR",
        help="Folder of the model: tokenizer.json and the sentence-transformers files.",
    )
    serve.add_argument(
        "--served-name",
        required=True,
        action="append",
        metavar="NAME",
        help="Name that requests may give the model; may be there several times.",
    )
    serve.add_argument(
        "--embedding",
        metavar="FILE",
        help="JSON file with the manifest's spec.embedding; its fields stand above the model's own files.",
    )
    serve.add_argument(
        "--model-digest",
        metavar="TEXT",
        help="The only digest of engines to use. Default: that of the first engine that is ready.",
    )


def _add_network(serve: argparse.ArgumentParser) -> None:
    engines = serve.add_mutually_exclusive_group(required=True)
    engines.add_argument("--engines", metavar="HOST:PORT,...", help="Where the engines listen, separated by commas.")
    engines.add_argument(
        "--engines-service",
        metavar="NAMESPACE/NAME",
        help="Service whose endpoints are the engines, read from the cluster as they come and go.",
    )
    _add_many_engines(serve)
    _add_api_server(serve)
    _add(serve, "--listen", "Where HTTP is served; port 0 takes a free one.", metavar="HOST:PORT")
    serve.add_argument(
        "--api-keys-file",
        metavar="FILE",
        help="File, or folder of files, with one API key a line; any opens the API. Default: the API is open.",
    )


def _add_many_engines(serve: argparse.ArgumentParser) -> None:
    _add(
        serve,
        "--max-engines",
        "Engines of --engines-service to be connected to; of more a part is chosen, another one by each gateway.",
        metavar="N",
        type=int,
    )
    serve.add_argument(
        "--gateways-service",
        metavar="NAMESPACE/NAME",
        help="Service whose endpoints are the gateways of this model, so that together they choose every engine. "
        "Default: each chooses for itself.",
    )
    serve.add_argument(
        "--gateway-name",
        metavar="NAME",
        help="Name of this gateway's pod in --gateways-service. Default: the name of the host.",
    )


def _add_api_server(serve: argparse.ArgumentParser) -> None:
    serve.add_argument(
        "--api-server",
        metavar="URL",
        help="API server to read the Services from. Default: that of the cluster in which this runs as a pod.",
    )
    serve.add_argument(
        "--api-server-ca-file",
        metavar="FILE",
        help="Certificates that vouch for --api-server. Default: those that the system trusts.",
    )
    serve.add_argument(
        "--api-server-token-file",
        metavar="FILE",
        help="Token for --api-server, read again before each request. Default: none is sent.",
    )


def _add_limits(serve: argparse.ArgumentParser) -> None:
    count = {"metavar": "N", "type": int}
    _add(
        serve,
        "--max-queued-tokens",
        "Tokens of requests under way before others are refused with 429; 0 takes what the ready engines can queue.",
        **count,
    )
    _add_number(
        serve,
        "--hold-seconds",
        "hold_s",
        "While there is no engine, be ready and let requests wait for one this long: for models that are scaled from "
        "zero. 0 refuses them with 503.",
    )
    _add(serve, "--max-held-tokens", "Tokens of requests that wait so, before others are refused with 429.", **count)
    _add(serve, "--max-body-bytes", "Longest body.", **count)
    _add(serve, "--max-inputs", "Inputs that one request may have.", **count)
    _add(serve, "--chunk-tokens", "Tokens of one call to an engine; 0 takes one batch of the engine.", **count)
    _add(serve, "--tokenizer-threads", "Threads that tokenize what is too long for the event loop.", **count)
    _add_number(serve, "--retry-budget-percent", "retry_budget_percent", "Calls that may be asked again elsewhere.")
    _add_number(serve, "--slow-start-seconds", "slow_start_s", "Time in which a new engine comes to its full share.")


def _add_life(serve: argparse.ArgumentParser) -> None:
    _add_number(serve, "--request-timeout-seconds", "request_timeout_s", "Longest time of one request.")
    _add_number(serve, "--drain-delay-seconds", "drain_delay_s", "After a signal, keep taking connections this long.")
    _add_number(serve, "--drain-timeout-seconds", "drain_timeout_s", "Then give accepted requests this long to finish.")


def _add_telling(serve: argparse.ArgumentParser) -> None:
    _add(serve, "--log-level", "Least important lines to print.", choices=LOG_LEVELS)
    _add(serve, "--log-format", "How lines are written: one JSON object each, or for eyes.", choices=LOG_FORMATS)
    serve.add_argument(
        "--trace-endpoint",
        metavar="URL",
        help="Collector that takes traces by OTLP over gRPC, http://HOST:PORT or https://HOST:PORT. "
        "Default: nothing is traced.",
    )
    _add_number(
        serve,
        "--trace-sample-percent",
        "trace_sample_percent",
        "Requests to trace of callers that do not decide it themselves.",
    )


def _add(serve: argparse.ArgumentParser, flag: str, text: str, **more: Any) -> None:
    default = _DEFAULTS[flag.removeprefix("--").replace("-", "_")]
    default = str(default) if isinstance(default, Address) else default
    serve.add_argument(flag, default=default, help=f"{text} Default: %(default)s.", **more)


def _add_number(serve: argparse.ArgumentParser, flag: str, key: str, text: str) -> None:
    serve.add_argument(
        flag, dest=key, default=_DEFAULTS[key], type=float, metavar="X", help=f"{text} Default: %(default)s."
    )
