"""The flags of `serve`, and from them a `Config`. Knows nothing that is slow to import."""

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from tulip_rose.rose.options import DEVICES, DTYPES, GRAPHS_ON_CPU
from tulip_rose.tulip.config import LOG_FORMATS, LOG_LEVELS, Address, Config
from tulip_rose.tulip.embedding import EmbeddingOverrides, read_overrides
from tulip_rose.tulip.graph_arguments import add_graphs, graph_config

_DEFAULTS: dict[str, Any] = {each.name: each.default for each in fields(Config)}


def add_serve(parsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> argparse.ArgumentParser:
    """Add `serve` and its flags; returns its parser."""
    parser = parsers.add_parser(
        "serve",
        help="load a model and serve it over gRPC",
        description="Load a model and serve it over gRPC until SIGTERM or SIGINT; then finish what was accepted.",
    )
    _add_model(parser)
    _add_engine(parser)
    add_graphs(parser)
    _add_network(parser)
    _add_limits(parser)
    _add_life(parser)
    _add_telling(parser)
    return parser


def config_of(arguments: argparse.Namespace) -> Config:
    """Check the flags together.

    Raises:
        ConfigError: names the flag, or the file and its field.
    """
    given = {key: value for key, value in vars(arguments).items() if key in _DEFAULTS and value is not None}
    model = Path(arguments.model)
    given["model"] = model
    given.setdefault("name", model.resolve().name)
    given["embedding"] = read_overrides(Path(arguments.embedding)) if arguments.embedding else EmbeddingOverrides()
    given["graphs"] = graph_config(arguments)
    for key in ("listen", "metrics_listen"):
        given[key] = Address.parse(given[key])
    return Config(**given)


def _add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        required=True,
        metavar="DIR",
        help="Folder of the model: config.json, safetensors and the sentence-transformers files.",
    )
    parser.add_argument("--name", metavar="NAME", help="Name of the model in Info and metrics. Default: the folder's.")
    parser.add_argument(
        "--embedding",
        metavar="FILE",
        help="JSON file with the manifest's spec.embedding; its fields stand above the model's own files.",
    )
    parser.add_argument(
        "--model-digest",
        metavar="TEXT",
        help="Digest to report. Default: one made from the weights and everything else that changes vectors.",
    )


def _add_engine(parser: argparse.ArgumentParser) -> None:
    about = "Precision of weights and activations. Not float16: its range is too small for several families."
    _add(parser, "--dtype", about, choices=DTYPES)
    where = "Where the model runs; auto takes CUDA where it is, cpu-graphs is for tests of what graphs do on a GPU."
    _add(parser, "--device", where, choices=(*DEVICES, GRAPHS_ON_CPU))
    _add(parser, "--threads", "CPU threads of one step; 0 takes all cores.", metavar="N", type=int)
    _add(parser, "--attention-backend", "Attention kernels; auto takes the best that the device has.", metavar="NAME")


def _add_network(parser: argparse.ArgumentParser) -> None:
    _add(parser, "--listen", "Where gRPC is served; port 0 takes a free one.", metavar="HOST:PORT")
    _add(parser, "--metrics-listen", "Where HTTP /metrics is served; port 0 takes a free one.", metavar="HOST:PORT")


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-batch-tokens",
        type=int,
        metavar="N",
        help="Tokens of one batch, at least the model's longest text. Default: 512 on a CPU, 16384 on a GPU.",
    )
    parser.add_argument(
        "--max-queued-tokens",
        type=int,
        metavar="N",
        help="Tokens that may wait before calls are refused. Default: 256 batches on a CPU, 64 on a GPU.",
    )


def _add_life(parser: argparse.ArgumentParser) -> None:
    _add_seconds(parser, "--drain-delay-seconds", "drain_delay_s", "After a signal, keep taking calls this long.")
    _add_seconds(parser, "--drain-timeout-seconds", "drain_timeout_s", "Then give accepted calls this long to finish.")
    _add_seconds(
        parser, "--stuck-after-seconds", "stuck_after_s", "A step that runs longer has hung, and liveness fails."
    )


def _add_telling(parser: argparse.ArgumentParser) -> None:
    _add(parser, "--log-level", "Least important lines to print.", choices=LOG_LEVELS)
    _add(parser, "--log-format", "How lines are written: one JSON object each, or for eyes.", choices=LOG_FORMATS)
    parser.add_argument(
        "--trace-endpoint",
        metavar="URL",
        help="Collector that takes traces by OTLP over gRPC, http://HOST:PORT or https://HOST:PORT; what is traced is "
        "decided by gateways. Default: nothing is traced.",
    )


def _add(parser: argparse.ArgumentParser, flag: str, text: str, **more: Any) -> None:
    default = _DEFAULTS[flag.removeprefix("--").replace("-", "_")]
    default = str(default) if isinstance(default, Address) else default
    parser.add_argument(flag, default=default, help=f"{text} Default: %(default)s.", **more)


def _add_seconds(parser: argparse.ArgumentParser, flag: str, key: str, text: str) -> None:
    parser.add_argument(
        flag, dest=key, default=_DEFAULTS[key], type=float, metavar="S", help=f"{text} Default: %(default)s."
    )
