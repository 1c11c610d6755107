"""`Scorer`: what makes values of labels of the states of a base model. Knows no files."""

from dataclasses import dataclass

from tulip_rose.rose.pooling_words import Poolings
from tulip_rose.rose.rows.row_module import RowModule
from tulip_rose.rose.transformer_file import LABELS, Call


@dataclass(frozen=True, slots=True)
class Scorer:
    """What is read of a text, and what becomes of it. The last module gives one value a label."""

    poolings: Poolings
    rows: tuple[RowModule, ...]
    labels: tuple[str, ...]
    padding: int | None = None
    """The id that stands for padding, where such tokens at the end of a text are passed over."""
    call: Call = LABELS
    """As sentence-transformers calls the model."""
    understood: frozenset[str] = frozenset()
    """Settings of the Transformer module that whoever tokenizes goes by."""
