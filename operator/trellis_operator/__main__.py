"""`python -m trellis_operator`: the command line. Builds the options, and shows errors as one line each."""

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from trellis_operator import crd
from trellis_operator.cluster.fence import FencedError
from trellis_operator.cluster.flags import add_run_flags, operator_config
from trellis_operator.errors import ManifestError, OperatorError
from trellis_operator.local.options import LocalOptions
from trellis_operator.manifest import read_manifest
from trellis_operator.sources.cache import default_cache
from trellis_operator.sources.command import FetchOptions, add_fetch_command, run_fetch
from trellis_operator.validate import validate

USAGE_ERROR = 2
FENCED = 1
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code.

    0, 1 for an operator that is not the leader any more, 2 for a clear error, 75 when a fetch failed and may succeed
    later, 130 when interrupted before anything ran.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    said = _parser().parse_args(arguments)
    try:
        return _COMMANDS[said.command](said)
    except OperatorError as error:
        where = f"{said.manifest}: " if isinstance(error, ManifestError) else ""
        for line in str(error).splitlines():
            print(f"error: {where}{line}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED


def _validate(said: argparse.Namespace) -> int:
    body = validate(read_manifest(said.manifest))
    print(f"{said.manifest}: {crd.kind()} {body['metadata']['name']} is valid")
    return 0


def _local(said: argparse.Namespace) -> int:
    from trellis_operator.local.run import run_local  # gRPC: `validate` and `--help` need not wait for it

    options = LocalOptions(
        manifest=said.manifest,
        model=said.model,
        port=said.port,
        threads=said.threads,
        once=said.once,
        api_keys_file=said.api_keys_file,
        cache=default_cache(),
    )
    run_local(options)
    return 0


def _fetch(said: argparse.Namespace) -> int:
    return run_fetch(FetchOptions.from_arguments(said))


def _run(said: argparse.Namespace) -> int:
    from trellis_operator.cluster.pace import Pace
    from trellis_operator.cluster.run import run_operator  # kopf and the client of a cluster: only this needs them

    try:
        run_operator(operator_config(said), Pace())
    except FencedError as error:
        print(f"error: {error}", file=sys.stderr)
        return FENCED
    return 0


_COMMANDS = {"local": _local, "validate": _validate, "fetch": _fetch, "run": _run}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trellis_operator",
        description="Runs EmbeddingModel manifests.",
        epilog=f"Downloaded models are kept in {default_cache()} (set TRELLIS_CACHE for another folder).",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    local = commands.add_parser(
        "local",
        help="run a manifest as processes on this machine, without a cluster",
        description="Runs a manifest as processes on this machine: engines, and a gateway on 127.0.0.1.",
    )
    _add_local_flags(local)
    check = commands.add_parser(
        "validate",
        help="check a manifest against the EmbeddingModel schema and its rules",
        description="Checks a manifest as an API server would, without one. Exit code 2 when it is not valid.",
    )
    check.add_argument("manifest", type=Path, metavar="MANIFEST", help="a YAML file with one EmbeddingModel")
    add_fetch_command(commands)
    run = commands.add_parser(
        "run",
        help="run the operator: look after the EmbeddingModels of a cluster",
        description="Turns the EmbeddingModels of a cluster into gateways and engines, and keeps them so. Connects as "
        "kubectl does (KUBECONFIG), or with its pod's service account.",
    )
    add_run_flags(run)
    return parser


def _add_local_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("manifest", type=Path, metavar="MANIFEST", help="a YAML file with one EmbeddingModel")
    add("--model", type=Path, metavar="DIR", help="serve this folder in place of the manifest's source")
    add("--port", type=_port, default=8080, help="port of the HTTP API on 127.0.0.1; 0 takes a free one (%(default)s)")
    add(
        "--threads",
        type=_threads,
        default=0,
        metavar="N",
        help="CPU threads of all engines together; 0 takes all cores (%(default)s)",
    )
    add("--once", metavar="TEXT", help="embed this text, print the JSON answer, and stop: for scripts")
    add(
        "--api-keys-file",
        type=Path,
        metavar="FILE",
        help="accepted API keys, one a line; without it no key is asked for",
    )


def _port(text: str) -> int:
    return _integer(text, 0, 65535)


def _threads(text: str) -> int:
    return _integer(text, 0, 64 * (os.cpu_count() or 1))


def _integer(text: str, lowest: int, highest: int) -> int:
    if not text.isascii() or not text.isdigit() or not lowest <= int(text) <= highest:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {lowest} to {highest}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
