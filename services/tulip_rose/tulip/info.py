"""What `Info` tells, as the wire says it: the model's card, the limits, how far the start is, what became of graphs."""

from dataclasses import dataclass

from trellis_wire.contents import Contents
from trellis_wire.v1 import embedding_pb2 as pb

from tulip_rose.rose.card import ModelCard
from tulip_rose.rose.graphs.state import NO_GRAPHS, GraphState
from tulip_rose.tulip.calls import Calls
from tulip_rose.tulip.config import Budgets
from tulip_rose.tulip.queue import Queue
from tulip_rose.tulip.warmup import Warmup

MOST_FAILURES = 16
"""Sizes without a graph, or without room, that are told of: what is wrong with them is the same as a rule."""


UNREAD = Contents()
"""Of a folder where nobody has looked."""


@dataclass(frozen=True, slots=True)
class Room:
    """What is there once the model is loaded; `ready_since` is in seconds of Unix time."""

    name: str
    card: ModelCard
    budgets: Budgets
    queue: Queue
    calls: Calls
    contents: Contents = UNREAD
    ready_since: float = 0.0


def info_of(room: Room, trellis_version: str) -> pb.InfoResponse:
    """The card and the limits, as the wire says them."""
    card = room.card
    return pb.InfoResponse(
        model_name=room.name,
        model_digest=card.model_digest,
        architecture=card.architecture,
        dtype=card.dtype,
        device=card.device,
        attention_backend=card.attention_backend,
        dimensions=card.dimensions,
        allowed_dimensions=card.allowed_dimensions,
        max_input_tokens=card.max_input_tokens,
        vocabulary_size=card.vocabulary_size,
        pooling=card.pooling,
        normalize=card.normalize,
        max_batch_tokens=room.budgets.max_batch_tokens,
        max_queued_tokens=room.budgets.max_queued_tokens,
        queued_tokens=room.queue.outstanding_tokens,
        version=trellis_version,
        task=card.task.value,
        outputs=[kind.value for kind in card.outputs],
        labels=card.labels,
        token_dimensions=card.token_dimensions,
        max_terms=card.max_terms,
        contents=room.contents.whole,
        texts=room.contents.texts,
        revision=room.contents.revision,
        ready_since=room.ready_since,
    )


def start_of(warmup: Warmup) -> pb.InfoResponse:
    """How far the start is, and what became of graphs, for merging with the rest."""
    return pb.InfoResponse(warmup=_warmup_of(warmup), graphs=_graphs_of(warmup.graphs))


def _warmup_of(warmup: Warmup) -> pb.Warmup:
    """How far the start is."""
    state = warmup.graphs
    return pb.Warmup(
        stage=warmup.stage.value,
        keys=state.to_warm,
        captured=state.warmed,
        key=state.warming,
        seconds=warmup.seconds(),
    )


def _graphs_of(state: GraphState) -> pb.Graphs | None:
    """What became of graphs; None where there are none."""
    if state is NO_GRAPHS:
        return None
    return pb.Graphs(
        held=state.held,
        captures=state.captured,
        capture_failures=state.capture_failed,
        evictions=state.evicted,
        replays=state.replayed,
        eager_steps=state.eager,
        failures=_sizes(state.failures),
        crowded=_sizes(state.crowded),
    )


def _sizes(told: tuple[tuple[str, str], ...]) -> list[pb.GraphFailure]:
    return [pb.GraphFailure(key=key, why=why) for key, why in told[:MOST_FAILURES]]
