"""Which keys are captured before an engine is ready, and a batch for each. Knows no device.

A graph depends on nothing of a batch but its key, so a key is asked for by its sizes, pads included. Any batch that has
the key will do; the fullest one is taken, since pads that are longer than any text would be no step as they come.
"""

from collections.abc import Iterable
from math import inf

import numpy as np

from tulip_rose.rose.batch import Batch
from tulip_rose.rose.graphs.key import Buckets, Key
from tulip_rose.sequence import OutputForm, Sequence, Want

Sizes = tuple[int, int]
"""Tokens and sequences of a key, pads and slots counted."""


def keys_of(asked: Iterable[Sizes], buckets: Buckets, positions: int, form: OutputForm | None) -> tuple[Key, ...]:
    """The keys that hold these sizes, each once.

    The largest come first: graphs share memory, which then is taken once, and not bit by bit.

    Args:
        asked: sizes; what is between two buckets goes to the larger one.
        buckets: those of the engine.
        positions: tokens of the longest sequence that the model can take.
        form: of the rows that come out within the graph; None: states do.

    Raises:
        ValueError: no batch ever has such a key.
    """
    keys = dict.fromkeys(_key_of(sizes, buckets, positions, form) for sizes in asked)
    return tuple(sorted(keys, key=lambda key: (key.tokens, key.slots), reverse=True))


def blank(key: Key, buckets: Buckets, positions: int, form: OutputForm) -> Batch:
    """The fullest batch of a key, of rows of a form: one token over and over, in texts of about equal lengths."""
    tokens, sequences = fullest(key, buckets, positions)
    lengths = [tokens // sequences + (index < tokens % sequences) for index in range(sequences)]
    wants = (Want(((0, 1),), form),)
    return Batch.pack([Sequence(np.zeros(length, np.int32), wants, 0.0, inf) for length in lengths])


def _key_of(sizes: Sizes, buckets: Buckets, positions: int, form: OutputForm | None) -> Key:
    tokens, sequences = sizes
    slots = next((slots for slots in buckets.slots if slots >= sequences), None)
    if min(sizes) < 1 or slots is None or tokens > buckets.most_rows:
        raise ValueError(f"there is no step of {tokens} tokens and {sequences} sequences: {buckets}")
    key = Key(buckets.rows(tokens), slots, form)
    most, _ = fullest(key, buckets, positions)
    if buckets.rows(most) != key.tokens:
        raise ValueError(f"{slots} sequences never have {key.tokens} tokens in a model of {positions} positions")
    return key


def fullest(key: Key, buckets: Buckets, positions: int) -> Sizes:
    """Tokens and sequences of the batch with the fewest pads; pads, where there are any, own a slot."""
    whole = min(key.tokens, buckets.most_tokens)
    if whole == key.tokens <= key.slots * positions:
        return whole, min(key.slots, whole)
    tokens = max(1, min(whole, (key.slots - 1) * positions))
    return tokens, max(1, min(key.slots - 1, tokens))
