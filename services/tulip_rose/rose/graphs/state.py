"""`GraphState`: what an engine tells about its graphs. A value; knows no device."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GraphState:
    """At one moment. Counts are since the start, those of the warm-up included."""

    held: int = 0
    """Graphs that are there."""
    captured: int = 0
    """Captures that came to be graphs; some of them may be gone again."""
    capture_failed: int = 0
    """Captures that did not; steps of those sizes are eager for good."""
    evicted: int = 0
    """Graphs that made room for others."""
    replayed: int = 0
    """Steps that were replays."""
    eager: int = 0
    """Steps over static buffers that were not; those without buffers are not counted."""
    out_of_memory: int = 0
    """Steps over static buffers that had no room; their batches were split."""
    pad_tokens: int = 0
    """Rows of tokens that batches did not fill. Those of prewarmed graphs' captures are no batches."""
    pad_sequences: int = 0
    """Slots of sequences that they did not fill, the one that owns the pads among them."""
    warmed: int = 0
    """Sizes of the prewarm list that are captured."""
    to_warm: int = 0
    """Sizes of the prewarm list; 0 without graphs."""
    warming: str = ""
    """Of those the one under way, as TOKENSxSLOTS; empty: none."""
    failures: tuple[tuple[str, str], ...] = ()
    """Sizes whose capture failed, as TOKENSxSLOTS, and why; the first ones."""
    crowded: tuple[tuple[str, str], ...] = ()
    """Sizes of which a step had no room, and what was said: their batches are split; the first ones."""


NO_GRAPHS = GraphState()
