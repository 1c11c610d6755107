"""The flags of graphs and of the warm-up, and from them a `GraphConfig`. Knows nothing that is slow to import."""

import argparse

from tulip_rose.rose.options import GRAPH_MODES, ON_CAPTURE_FAILURE
from tulip_rose.tulip.graph_config import GraphConfig, read_prewarm, read_slots

_DEFAULT = GraphConfig()


def add_graphs(parser: argparse.ArgumentParser) -> None:
    """Add the flags; each has a sentence."""
    add = parser.add_argument
    add(
        "--graphs",
        choices=GRAPH_MODES,
        default=_DEFAULT.mode,
        help="lazy captures a graph at the second use of its sizes, off never does. Default: %(default)s.",
    )
    add(
        "--graph-token-multiple",
        type=int,
        default=_DEFAULT.token_multiple,
        metavar="N",
        help="With graphs, tokens of a batch are padded up to a multiple of it. Default: %(default)s.",
    )
    add(
        "--graph-slots",
        default=",".join(map(str, _DEFAULT.slots)),
        metavar="N,N",
        help="With graphs, sequences of a batch are padded up to one of these. Default: %(default)s.",
    )
    add(
        "--graph-prewarm",
        metavar="TxS,TxS",
        help="Graphs of T tokens and S slots that are captured before the engine is ready. Default: none.",
    )
    add(
        "--graph-capture-failure",
        choices=ON_CAPTURE_FAILURE,
        default=_DEFAULT.on_failure,
        help="eager serves sizes that cannot be captured without a graph; fail ends the start. Default: %(default)s.",
    )
    add(
        "--warmup-verify",
        action=argparse.BooleanOptionalAction,
        default=_DEFAULT.verify,
        help="Compare vectors of captured graphs with those of steps without, before the engine is ready.",
    )
    add(
        "--warmup-timeout-seconds",
        type=float,
        default=_DEFAULT.timeout_s,
        metavar="S",
        help="End when the model is not loaded and warm after this long, and say how far it was. Default: %(default)s.",
    )


def graph_config(said: argparse.Namespace) -> GraphConfig:
    """Check the flags together.

    Raises:
        ConfigError: names the flag.
    """
    return GraphConfig(
        mode=said.graphs,
        token_multiple=said.graph_token_multiple,
        slots=read_slots(said.graph_slots),
        prewarm=read_prewarm(said.graph_prewarm) if said.graph_prewarm else (),
        on_failure=said.graph_capture_failure,
        verify=said.warmup_verify,
        timeout_s=said.warmup_timeout_seconds,
    )
