"""`Counts`: what became of steps. Knows no device."""

from dataclasses import dataclass


@dataclass(slots=True)
class Counts:
    """Since the start; written by the engine's thread, read by any."""

    eager: int = 0
    captured: int = 0
    replayed: int = 0
    capture_failed: int = 0
    evicted: int = 0
    out_of_memory: int = 0
    pad_tokens: int = 0
    pad_sequences: int = 0
