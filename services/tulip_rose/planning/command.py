"""The flags of `plan-buckets`, and the command itself. Knows nothing that is slow to import."""

import argparse

from tulip_rose.planning.read import read_observed
from tulip_rose.planning.show import shown
from tulip_rose.rose.graphs.key import Buckets
from tulip_rose.rose.plan.buckets import MOST_PREWARMED, Budget, judge, propose
from tulip_rose.rose.plan.observed import ANY
from tulip_rose.tulip.errors import ConfigError

_DEFAULT = Budget()


def add_plan_buckets(parsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> argparse.ArgumentParser:
    """Add `plan-buckets` and its flags; returns its parser."""
    parser = parsers.add_parser(
        "plan-buckets",
        help="propose the CUDA graphs of a manifest from the batches that an engine has seen",
        description="Propose token multiple, sequence slots and prewarmed graphs that waste least on the batches that "
        "were seen, and print what they are expected to waste, and the manifest's cudaGraphs.",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="What was seen: the text of an engine's /metrics, or JSON "
        '{"batches": [[SEQUENCES, TOKENS, COUNT], ...]}; - reads standard input.',
    )
    _add_number(parser, "--graphs", int, _DEFAULT.graphs, "Graphs to capture before an engine gets ready, at most.")
    _add_number(
        parser,
        "--coverage-percent",
        float,
        100 * _DEFAULT.coverage,
        "Batches that those graphs are to serve; the others get theirs when they come twice.",
    )
    _add_number(
        parser,
        "--max-input-tokens",
        int,
        ANY,
        "Tokens of the longest input. Two histograms do not say which sizes go together, and an engine does not start "
        "with a graph for sequences longer than any.",
        "any length",
    )
    _add_number(
        parser,
        "--slot-rows",
        float,
        _DEFAULT.slot_rows,
        "Work of one slot in rows of tokens, an estimate that no GPU has confirmed yet.",
    )
    return parser


def plan_buckets(arguments: argparse.Namespace) -> str:
    """What the command prints.

    Raises:
        ConfigError: names the flag or the file.
    """
    budget = _budget(arguments)
    observed, estimate = read_observed(arguments.file, arguments.max_input_tokens)
    plans = {"proposed": propose(observed, budget), "default": judge(observed, Buckets(), budget)}
    return shown(observed, estimate, budget, plans)


def _budget(arguments: argparse.Namespace) -> Budget:
    if not 1 <= arguments.graphs <= MOST_PREWARMED:
        raise ConfigError(f"--graphs: {arguments.graphs} is not 1 to {MOST_PREWARMED}")
    if arguments.max_input_tokens < 1:
        raise ConfigError(f"--max-input-tokens: {arguments.max_input_tokens} is not a whole number above 0")
    if not 0 < arguments.coverage_percent <= 100:
        raise ConfigError(f"--coverage-percent: {arguments.coverage_percent:g} is not above 0 and at most 100")
    if not 0 <= arguments.slot_rows <= 1000:
        raise ConfigError(f"--slot-rows: {arguments.slot_rows:g} is not 0 to 1000")
    return Budget(arguments.graphs, arguments.coverage_percent / 100, arguments.slot_rows)


def _add_number(
    parser: argparse.ArgumentParser,
    flag: str,
    kind: type[int] | type[float],
    default: float,
    text: str,
    named: str = "%(default)g",
) -> None:
    parser.add_argument(flag, type=kind, default=default, metavar="N", help=f"{text} Default: {named}.")
