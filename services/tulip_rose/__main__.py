"""`python -m tulip_rose`: reads arguments, calls the program, turns errors into one line and an exit code.

Nothing heavy is imported before the arguments are known to be right: `--help` and a wrong flag answer at once.
"""

import argparse
import logging
import os
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

from tulip_rose.planning.command import add_plan_buckets, plan_buckets
from tulip_rose.rose.errors import RoseError
from tulip_rose.tulip import logs
from tulip_rose.tulip.arguments import add_serve, config_of
from tulip_rose.tulip.config import Config
from tulip_rose.tulip.errors import ConfigError

if TYPE_CHECKING:
    from tulip_rose.rose.engine import Engine

CANNOT_START = 2
_EXTRA = {"torch", "safetensors", "grpc_health", "grpc_reflection"}


def main(argv: list[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    try:
        arguments = _parser().parse_args(argv)
        return int(arguments.run(arguments))
    except (ConfigError, RoseError) as error:
        print(f"tulip: {error}", file=sys.stderr)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        print(f"tulip: {error.name} is not installed: pip install 'trellis-serve[engine]'", file=sys.stderr)
    return CANNOT_START


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tulip_rose", description="The engine of Trellis.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_serve(commands).set_defaults(run=lambda arguments: _serve(config_of(arguments)))
    add_plan_buckets(commands).set_defaults(run=_plan_buckets)
    return parser


def _plan_buckets(arguments: argparse.Namespace) -> int:
    print(plan_buckets(arguments))
    return 0


def _serve(config: Config) -> int:
    started = time.monotonic()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end_before_serving)
    logs.set_up(config.log_level, config.log_format)
    logging.getLogger(__name__).info("loading model %s from %s", config.name, config.model)
    # What gRPC's core writes to stderr by itself repeats in worse words what is told here in one line.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # A team of OpenMP threads that spins for its last member takes the core which that member needs: on two busy cores
    # a query took 300 ms in place of 12. Read once, when torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import uvloop

    from tulip_rose.tulip.serve import serve

    return int(uvloop.run(serve(config, _load, started)))


def _end_before_serving(number: int, frame: FrameType | None) -> None:
    """Stands until `serve` listens for signals itself: nothing is accepted yet, so there is nothing to finish."""
    _exit(0)


def _load(config: Config) -> "Engine":
    from tulip_rose.rose.engine import Engine

    return Engine.load(config.model, config.engine_options())


def _exit(code: int) -> NoReturn:
    """End without tearing down: a thread deep in native code (a load, a stuck step) would crash an ordinary exit."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _exit(main())
