"""Lower-casing that a model's sentence-transformers file asks for, where its tokenizer does none. Knows no text."""

from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer, Lowercase, Normalizer
from tokenizers.normalizers import Sequence as Normalizers

from ivy.embedding import read_json
from ivy.errors import ConfigError

_FAMILIES = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
_KEY = "do_lower_case"


def lower_where_asked(inner: Tokenizer, folder: Path) -> None:
    """Put lower-casing before all else that the tokenizer does, if the model's file says so.

    Raises:
        ConfigError: the file is wrong.
    """
    files = (folder / f"sentence_{family}_config.json" for family in _FAMILIES)
    path = next((file for file in files if file.is_file()), None)
    if path is None:
        return
    own = read_json(path)
    asked = own.get(_KEY, False) if isinstance(own, dict) else None
    if not isinstance(asked, bool):
        raise ConfigError(f"{path}: {_KEY} is not true or false")
    if asked and not _lowers(inner.normalizer):
        before = [] if inner.normalizer is None else [inner.normalizer]
        inner.normalizer = Normalizers([Lowercase(), *before])


def _lowers(normalizer: Normalizer | None) -> bool:
    return isinstance(normalizer, Lowercase) or (isinstance(normalizer, BertNormalizer) and normalizer.lowercase)
