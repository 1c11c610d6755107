"""`Pieces`: the sequences that a request becomes, and how their rows become its vectors. Pure.

Mostly one sequence gives one vector. A text that is longer than the model reads is several sequences and one vector; a
document of chunks is one sequence, or several, and a vector for each chunk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ivy.errors import ContextTooLong
from ivy.tokenize.tokenizer import Template
from ivy.windows import even

Span = tuple[int, int]
"""`[begin, end)` in tokens of a sequence."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One sequence for an engine, and which of its tokens make rows."""

    ids: Sequence[int]
    spans: Sequence[Span] = ()
    """One row each; empty: one row over all tokens."""
    unseen: int = 0
    """Tokens at the end that see the others and are seen by none."""

    @property
    def rows(self) -> int:
        """How many rows come back."""
        return len(self.spans) or 1


@dataclass(frozen=True, slots=True)
class Parts:
    """Which vector each row is a part of."""

    targets: Sequence[int]
    """For each row, in the order of the pieces, the vector that it belongs to."""
    weights: Sequence[int]
    """For each row the tokens that it stands for."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """All sequences of a request, in order."""

    pieces: Sequence[Piece]
    count: int
    """Vectors of the request."""
    parts: Parts | None = None
    """None: each row is one vector, in order."""

    @property
    def tokens(self) -> int:
        """Of all sequences."""
        return sum(len(piece.ids) for piece in self.pieces)


def whole(inputs: Sequence[Sequence[int]]) -> Pieces:
    """Each input is one sequence and one vector."""
    return Pieces([Piece(ids) for ids in inputs], len(inputs))


def after(inputs: Sequence[Sequence[int]], begins: Sequence[int], param: Callable[[int], str]) -> Pieces:
    """The same, where the tokens before `begins` are seen by the model and are no part of the vector.

    Raises:
        ContextTooLong: nothing of an input is left after its prompt.
    """
    for index, (ids, begin) in enumerate(zip(inputs, begins, strict=True)):
        if begin >= len(ids):
            raise ContextTooLong("the prompt leaves no room for the input", param=param(index))
    return Pieces([Piece(ids, ((begin, len(ids)),)) for ids, begin in zip(inputs, begins, strict=True)], len(inputs))


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the ids of every window of a text."""

    template: Template
    """Special tokens."""
    prompt: tuple[int, ...]
    pools_prompt: bool
    """Whether the prompt and what stands before it are part of vectors, or only seen by the model."""
    max_tokens: int
    """Of a sequence, all of it included."""

    @property
    def room(self) -> int:
        """Tokens of a text that a window has room for."""
        return self.max_tokens - self.template.size - len(self.prompt)

    def pooled(self, body: Sequence[int]) -> int:
        """Tokens of one whole sequence that would be pooled."""
        whole = self.template.size + len(body)
        return whole if self.pools_prompt else whole - len(self.template.leading) - len(self.prompt)

    def piece(self, body: Sequence[int]) -> Piece:
        """A sequence whose ids between the special tokens are `body`, prompt included."""
        ids = self.template.around(body)
        begin = 0 if self.pools_prompt else len(self.template.leading) + len(self.prompt)
        return Piece(ids, ((begin, len(ids)),) if begin else ())


def windowed(bodies: Sequence[Sequence[int]], frame: Frame) -> Pieces:
    """Each input is one vector: the average, by tokens, over as many windows as it needs, each with the prompt.

    Args:
        bodies: for each input its ids, prompt included and special tokens not.
        frame: what stands around every window; its room is at least 1.
    """
    pieces: list[Piece] = []
    targets: list[int] = []
    weights: list[int] = []
    for target, body in enumerate(bodies):
        for window in _windows(body, frame):
            pieces.append(frame.piece(window))
            targets.append(target)
            weights.append(max(len(window) - len(frame.prompt), 1))
    return Pieces(pieces, len(bodies), parts_of(targets, weights, len(bodies)))


def window_count(bodies: Sequence[Sequence[int]], frame: Frame) -> int:
    """How many sequences `windowed` makes of these inputs."""
    lengths = (len(body) - len(frame.prompt) for body in bodies)
    return sum(max(-(-length // frame.room), 1) for length in lengths)


def _windows(body: Sequence[int], frame: Frame) -> list[Sequence[int]]:
    own = len(frame.prompt)
    if len(body) <= own + frame.room:
        return [body]
    return [[*frame.prompt, *body[own + begin : own + end]] for begin, end in even(len(body) - own, frame.room)]


def parts_of(targets: Sequence[int], weights: Sequence[int], count: int) -> Parts | None:
    """Which vector each row is a part of; None where each is one of its own."""
    return None if len(targets) == count else Parts(targets, weights)
