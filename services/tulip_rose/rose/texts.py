"""`Texts`: what a batch is made of, joined in the caller's order, and laid out in arrays when somebody asks.

Apart from `Batch`, since its parts read it too: were they to know the batch, ids and arrays would stay until the next
garbage collection.
"""

from collections.abc import Sequence as Sequences
from functools import cached_property

import numpy as np

from tulip_rose.rose.laid import Laid, lay
from tulip_rose.rose.survey import Survey, survey
from tulip_rose.sequence import Sequence


class Texts:
    """T tokens in S texts."""

    def __init__(self, sequences: Sequences[Sequence]) -> None:
        """Join and survey at least one sequence.

        Raises:
            ValueError: the types of a sequence are not one a token.
        """
        if len(sequences) == 1:
            # As a short query comes.
            [one] = sequences
            self.heads, self.ids = one.head, one.ids
        else:
            self.heads = b"".join([each.head for each in sequences])
            """Of each text its head."""
            self.ids = b"".join([each.ids for each in sequences])
            """int32 [T]: those of each text."""
        self.survey: Survey = survey(self.heads, self.ids)
        self.types = _types(sequences) if self.survey.typed else None
        """uint8 [T]: of each token its type; None: all are 0."""

    @cached_property
    def laid(self) -> Laid:
        """The arrays."""
        return lay(self.heads, self.ids, self.types, self.survey)


def _types(sequences: Sequences[Sequence]) -> bytes:
    return b"".join([_types_of(each) for each in sequences])


def _types_of(sequence: Sequence) -> bytes:
    if sequence.token_types is None:
        return bytes(sequence.tokens)
    types = np.asarray(sequence.token_types, np.uint8)
    if types.shape != (sequence.tokens,):
        raise ValueError(f"{types.size} token_types for {sequence.tokens} tokens: one a token was expected")
    return types.tobytes()
