"""`Late`: the sequences of queries and documents whose tokens have vectors, and which of these count. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ivy.api.request import EmbeddingsRequest
from ivy.embedding import read_json
from ivy.errors import ConfigError
from ivy.late_files import Expansion, LateFile
from ivy.pieces import Piece, Pieces
from ivy.tokenize.tokenizer import Tokenizer
from ivy.tokenize.truncation import Truncation


@dataclass(frozen=True, slots=True)
class Late:
    """As `LateFile`, in ids."""

    file: LateFile = field(default_factory=LateFile)
    filling: int | None = None
    """What queries are filled up with."""
    skipped: tuple[int, ...] = ()

    @classmethod
    def of(cls, file: LateFile | None, tokenizer: Tokenizer, folder: Path) -> "Late":
        """Find the ids of a file's tokens.

        Raises:
            ConfigError: queries are filled up with a token that the tokenizer does not have.
        """
        if file is None:
            return cls()
        found = (tokenizer.token_id(word) for word in file.skipped)
        filling = None if file.expansion is None else _filling(file.expansion, tokenizer, folder)
        return cls(file, filling, tuple(token for token in found if token is not None))

    def cut(self, request: EmbeddingsRequest, *, is_query: bool) -> EmbeddingsRequest:
        """The request with the length of its queries, which are cut at their end unless the caller says otherwise."""
        expansion = self.file.expansion
        longest = expansion.length if expansion is not None and expansion.fixed else self.file.query_length
        if not is_query or longest is None:
            return request
        most = longest if request.max_tokens is None else min(longest, request.max_tokens)
        return replace(request, max_tokens=most, truncation=request.truncation or Truncation.END)

    def filled(self, pieces: Pieces, *, is_query: bool) -> Pieces:
        """The same sequences, with queries filled up."""
        expansion = self.file.expansion
        if not is_query or expansion is None or self.filling is None:
            return pieces
        return replace(pieces, pieces=[_filled(piece, expansion, self.filling) for piece in pieces.pieces])

    def kept(self, ids: Sequence[int], *, is_query: bool) -> NDArray[np.intp]:
        """Places of the tokens whose vectors count; at least one."""
        skips = self.file.skips_queries if is_query else self.file.skips_documents
        counts = ~np.isin(ids, self.skipped) if skips else np.ones(len(ids), dtype=np.bool_)
        counts[0] &= not self.file.skips_first or len(ids) == 1
        # Of a text of marks alone nothing would be left to compare.
        return np.flatnonzero(counts) if counts.any() else np.arange(len(ids))


def _filled(piece: Piece, expansion: Expansion, filling: int) -> Piece:
    more = max(expansion.length - len(piece.ids), 0)
    return replace(piece, ids=[*piece.ids, *[filling] * more], unseen=0 if expansion.attend else more)


def _filling(expansion: Expansion, tokenizer: Tokenizer, folder: Path) -> int:
    path = folder / "tokenizer_config.json"
    says = read_json(path) if path.is_file() else {}
    names = [expansion.token] if expansion.token is not None else [says.get("mask_token"), says.get("eos_token")]
    texts = [name.get("content") if isinstance(name, dict) else name for name in names if name is not None]
    token = next((tokenizer.token_id(str(text)) for text in texts), None)
    if token is None:
        raise ConfigError(f"{path}: no token to fill queries up with, as query_expansion of the model asks for")
    return token
