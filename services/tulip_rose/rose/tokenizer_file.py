"""What `tokenizer.json` says that an engine can check: whether it belongs to the model. Ids are made elsewhere.

Knows no torch, and no tokenizer.
"""

from pathlib import Path
from typing import Any

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.folder import read_object

_FILE = "tokenizer.json"


def check_tokenizer(folder: Path, rows: int) -> None:
    """Check that each piece of the vocabulary has a row in the table of words.

    Tokens that were added to it are left out: published models have some that no text becomes, beyond their table.

    Args:
        folder: of the model.
        rows: of the table.

    Raises:
        LoadError: the tokenizer is of a model with a larger table, or the file is not readable.
    """
    model = read_object(folder, _FILE).get("model")
    if not isinstance(model, dict):
        return
    longest = _pieces(model.get("vocab"))
    if longest > rows:
        raise LoadError(
            f"{folder / _FILE}: model.vocab has ids up to {longest - 1}, config.json says vocab_size {rows}: "
            "the tokenizer is that of another model"
        )


def _pieces(vocabulary: Any) -> int:
    """The largest id and one: of WordPiece and BPE a table of ids, of Unigram a list."""
    if isinstance(vocabulary, dict):
        return 1 + max((id for id in vocabulary.values() if isinstance(id, int)), default=-1)
    return len(vocabulary) if isinstance(vocabulary, list) else 0
