"""How long texts are in tokens, of corpora that anybody can have: `python -m bench.lengths` writes bench/lengths.json.

What is kept is counts by length, so that whatever goes by lengths alone needs neither texts nor tokenizers, and has the
same input everywhere.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

from tokenizers import Tokenizer

from bench.corpora import declarations, descriptions
from bench.models import minilm, multilingual_tokenizer
from bench.texts import code, english, plain

LENGTHS = Path(__file__).with_name("lengths.json")
_MOST_TOKENS = 512
"""Longer texts are cut to it, as models do."""
_MOST_TEXTS = 20_000
_SEED = 3


def recorded() -> dict[str, dict[int, int]]:
    """Counts of texts by their tokens, of each corpus."""
    whole = json.loads(LENGTHS.read_text(encoding="utf-8"))
    return {name: {int(tokens): count for tokens, count in counts.items()} for name, counts in whole.items()}


def main() -> None:
    """Count, and write the file."""
    few, many = plain(minilm() / "tokenizer.json"), plain(multilingual_tokenizer())
    corpora: dict[str, tuple[Callable[[], list[str]], Tokenizer]] = {
        "reference of Python, paragraphs": (english, few),
        "source of Python, blocks": (code, few),
        "Debian's descriptions, English": (lambda: descriptions("en"), few),
        "a declaration in 500 languages, lines": (declarations, many),
    }
    counted = {name: _counted(texts(), tokenizer) for name, (texts, tokenizer) in corpora.items()}
    LENGTHS.write_text(json.dumps(counted, indent=1) + "\n", encoding="utf-8")


def _counted(texts: list[str], tokenizer: Tokenizer) -> dict[int, int]:
    """Counts by tokens, special ones included, ascending."""
    return dict(sorted(Counter(min(length, _MOST_TOKENS) for length in _tokens(texts, tokenizer)).items()))


def _tokens(texts: list[str], tokenizer: Tokenizer) -> Iterable[int]:
    sample = texts if len(texts) <= _MOST_TEXTS else Random(_SEED).sample(texts, _MOST_TEXTS)
    for start in range(0, len(sample), 1000):
        yield from map(len, tokenizer.encode_batch(sample[start : start + 1000]))


if __name__ == "__main__":
    main()
