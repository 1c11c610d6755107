"""`Layout`: how the chunks of documents become pieces, each chunk a vector. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ivy.pieces import Piece, Pieces, Span, parts_of
from ivy.tokenize.tokenizer import Template
from ivy.windows import Window, overlapping


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


def size(document: Sequence[Sequence[int]], layout: Layout) -> int:
    """Tokens of a document, given as the ids of its chunks, that is read at once."""
    return len(_joined(document, layout)[0]) + layout.template.size


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
        for window, owned in _owned(bounds, overlapping(len(body), layout.room, layout.overlap)):
            if not owned:
                # Nothing but separators is this window's own.
                continue
            spans = [_span(window, begin, end, len(body), layout.template) for _, begin, end in owned]
            pieces.append(Piece(layout.template.around(body[window.begin : window.end]), spans))
            targets += [first + chunk for chunk, _, _ in owned]
            weights += [end - begin for begin, end in spans]
        first += len(document)
    return Pieces(pieces, first, parts_of(targets, weights, first))


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


def _owned(bounds: Sequence[Span], windows: Iterable[Window]) -> Iterator[tuple[Window, list[tuple[int, int, int]]]]:
    """Each window with the chunks that have tokens of its own, and which: `(chunk, begin, end)` in the document.

    Both are in their order, so that no window looks at chunks that lie far from it.
    """
    first = 0
    for window in windows:
        while first < len(bounds) and bounds[first][1] <= window.own_begin:
            first += 1
        last = first
        while last < len(bounds) and bounds[last][0] < window.own_end:
            last += 1
        parts = (
            (chunk, max(bounds[chunk][0], window.own_begin), min(bounds[chunk][1], window.own_end))
            for chunk in range(first, last)
        )
        yield window, [part for part in parts if part[1] < part[2]]


def _span(window: Window, begin: int, end: int, total: int, template: Template) -> Span:
    """Where tokens of the document lie in the window's sequence, with the special tokens at the document's ends."""
    shift = len(template.leading) - window.begin
    return (
        begin + shift if begin else 0,
        end + shift + (len(template.trailing) if end == total else 0),
    )
