"""Real texts that every CPython carries: English prose of its language reference, and source of its library.

The same on every machine with the same Python, without a download. Never knows a model, except to cut to a length.
"""

import importlib.util
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from pydoc_data.topics import topics
from random import Random

from tokenizers import Tokenizer

_MODULES = ("argparse", "ast", "asyncio.base_events", "dataclasses", "inspect", "json.decoder", "pathlib", "typing")
_PROSE = re.compile(r"[A-Z][^\n]{30,}(?:\n\S[^\n]*)*")


def english() -> list[str]:
    """Paragraphs of prose, each on one line, in a fixed order."""
    paragraphs = (block for name in sorted(topics) for block in topics[name].split("\n\n"))
    return [" ".join(block.split()) for block in paragraphs if _PROSE.fullmatch(block.strip())]


def code() -> list[str]:
    """Pieces of Python source, as written, in a fixed order."""
    sources = (_source(name) for name in _MODULES)
    return [block for source in sources for block in re.split(r"\n{3,}", source) if len(block) > 200]


def plain(tokenizer_file: Path) -> Tokenizer:
    """The tokenizer in a file, with the truncation and the padding that may be baked in switched off."""
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def cut(text: str, tokens: int, tokenizer: Tokenizer) -> str:
    """The beginning of a text that has at most `tokens` tokens, special ones included."""
    encoding = tokenizer.encode(text)
    while len(encoding) > tokens:
        # Where the last word that still fits ends; a cut may change what its pieces are, so look again.
        end = encoding.offsets[tokens - 2][1]
        text = text[: end if end < len(text) else len(text) - 1]
        encoding = tokenizer.encode(text)
    return text


def endless(pieces: Sequence[str], random: Random, separator: str = " ") -> Iterator[str]:
    """Texts of at least 2,000 characters, each from a random place in `pieces` onwards."""
    while True:
        start = random.randrange(len(pieces))
        text = pieces[start]
        for piece in (*pieces[start + 1 :], *pieces[:start]):
            if len(text) >= 2000:
                break
            text += separator + piece
        yield text


def _source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"the source of {module} is not on this machine")
    return Path(spec.origin).read_text(encoding="utf-8")
