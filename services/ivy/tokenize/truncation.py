"""`Truncation`: what happens to an input that is longer than the model reads."""

from enum import Enum


class Truncation(Enum):
    """Which end of the input is cut off."""

    NONE = "none"
    """Neither: the input is refused."""
    START = "start"
    END = "end"
    CHUNK = "chunk"
    """Neither: all of the input is read, in windows. Whoever asks a tokenizer has split it by then."""
