"""`Pieces`: the sequences that a request becomes, and how their rows become its vectors. Pure.

Mostly one sequence gives one vector. A text that is longer than the model reads is several sequences and one vector; a
document of chunks is one sequence, or several, and a vector for each chunk.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ivy.errors import ContextTooLong
from ivy.tokenize.tokenizer import Template
from ivy.windows import Window, even, overlapping

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
    return Pieces(pieces, len(bodies), _parts(targets, weights, len(bodies)))


def window_count(bodies: Sequence[Sequence[int]], frame: Frame) -> int:
    """How many sequences `windowed` makes of these inputs."""
    lengths = (len(body) - len(frame.prompt) for body in bodies)
    return sum(max(-(-length // frame.room), 1) for length in lengths)


def _windows(body: Sequence[int], frame: Frame) -> list[Sequence[int]]:
    own = len(frame.prompt)
    if len(body) <= own + frame.room:
        return [body]
    return [[*frame.prompt, *body[own + begin : own + end]] for begin, end in even(len(body) - own, frame.room)]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the chunks of a document become sequences."""

    template: Template
    """Special tokens around every sequence."""
    separator: tuple[int, ...]
    """Between two chunks; belongs to neither."""
    max_tokens: int
    """Of a sequence, special tokens included."""
    overlap: int
    """Tokens that two windows of a document share."""
    prompt: tuple[int, ...] = ()
    """Before the first chunk."""
    pools_prompt: bool = True
    """Whether the first chunk's vector has the prompt, and what stands before it, in it."""

    @property
    def room(self) -> int:
        """Tokens of a window without the special ones."""
        return self.max_tokens - self.template.size


def documents(chunks: Sequence[Sequence[Sequence[int]]], layout: Layout) -> Pieces:
    """Each chunk of each document is one vector, pooled from a pass over all of the document.

    The special tokens before a document belong to its first chunk and those after it to its last one, so a document of
    one chunk has the vector of its text. A document that is too long is split into windows, and every token is taken
    from the window that owns it; a chunk in several windows is the average of its parts by tokens.

    Args:
        chunks: for each document the ids of its chunks, without special tokens.
        layout: how they are put together.
    """
    pieces: list[Piece] = []
    targets: list[int] = []
    weights: list[int] = []
    first = 0
    for document in chunks:
        body, bounds = _joined(document, layout)
        for window in overlapping(len(body), layout.room, layout.overlap):
            owned = _owned(bounds, window)
            if not owned:
                # Nothing but separators is this window's own.
                continue
            spans = [_span(window, begin, end, len(body), layout.template) for _, begin, end in owned]
            pieces.append(Piece(layout.template.around(body[window.begin : window.end]), spans))
            targets += [first + chunk for chunk, _, _ in owned]
            weights += [end - begin for begin, end in spans]
        first += len(document)
    return Pieces(pieces, first, _parts(targets, weights, first))


def _joined(document: Sequence[Sequence[int]], layout: Layout) -> tuple[list[int], list[Span]]:
    """The ids of a document, and where each chunk lies in them."""
    body = [*layout.prompt]
    bounds: list[Span] = []
    for chunk in document:
        if bounds:
            body += layout.separator
        begin = 0 if layout.pools_prompt and not bounds else len(body)
        bounds.append((begin, len(body) + len(chunk)))
        body += chunk
    return body, bounds


def _owned(bounds: Sequence[Span], window: Window) -> list[tuple[int, int, int]]:
    """The chunks that have tokens of this window's own, and which: `(chunk, begin, end)` in tokens of the document."""
    parts = [
        (chunk, max(begin, window.own_begin), min(end, window.own_end)) for chunk, (begin, end) in enumerate(bounds)
    ]
    return [part for part in parts if part[1] < part[2]]


def _span(window: Window, begin: int, end: int, total: int, template: Template) -> Span:
    """Where tokens of the document lie in the window's sequence, with the special tokens at the document's ends."""
    shift = len(template.leading) - window.begin
    return (
        begin + shift if begin else 0,
        end + shift + (len(template.trailing) if end == total else 0),
    )


def _parts(targets: Sequence[int], weights: Sequence[int], count: int) -> Parts | None:
    return None if len(targets) == count else Parts(targets, weights)
