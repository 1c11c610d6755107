"""The compiled tokenizer against the library on a million different lines: `python -m bench.tokenize_equal`.

Each line by itself, and all lines of a text in one. Ends with code 1 where one id differs.
"""

import argparse
import hashlib
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import tokenizers
from ivy.tokenize.native.choice import choose
from ivy.tokenize.native.encoder import Encoder

from bench.corpora import LANGUAGES, declarations, descriptions
from bench.models import minilm, multilingual_tokenizer
from bench.record import surroundings, table, write
from bench.texts import plain

_BATCH = 500
_SHOWN = 5
_PACKAGES = ("tokenizers", "numpy")


@dataclass
class Count:
    """What came of one model's comparison."""

    name: str
    lines: int = 0
    text_bytes: int = 0
    tokens: int = 0
    unsure: int = 0
    wrong: int = 0
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def numbers(self) -> tuple[int, ...]:
        """As the columns of the table have them."""
        return self.lines, self.text_bytes, self.tokens, self.wrong, self.unsure


def main() -> None:
    """Compare, print the table and write it to `bench/results`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000, help="Lines to compare.")
    options = parser.parse_args()
    around = surroundings(_PACKAGES)
    counts = [
        compare(name, file, options.lines)
        for name, file in (
            ("WordPiece (MiniLM)", minilm() / "tokenizer.json"),
            ("Unigram (XLM-R)", multilingual_tokenizer()),
        )
    ]
    header = ["tokenizer", "lines", "bytes", "tokens", "other ids", "left to the library", "sha256 of the lines"]
    rows = [[each.name, *map("{:,}".format, each.numbers()), each.digest.hexdigest()[:16]] for each in counts]
    data = {each.name: {"lines": each.lines, "wrong": each.wrong, "unsure": each.unsure} for each in counts}
    path = write("tokenize-equal", "Ids of the compiled tokenizer", around, [("Lines", table(header, rows))], data)
    print(path.read_text(encoding="utf-8"))
    sys.exit(any(each.wrong for each in counts))


def lines() -> Iterator[str]:
    """All lines of the corpora, each once: paragraphs in 500 languages, then descriptions."""
    texts = chain(declarations(), *map(descriptions, LANGUAGES))
    yield from dict.fromkeys(line for text in texts for line in text.split("\n") if line)


def compare(name: str, file: Path, most: int) -> Count:
    """Compare one model's ids on the first `most` lines.

    Raises:
        RuntimeError: the compiled tokenizer does not serve it at all.
    """
    library = plain(file)
    encoder = choose(library).encoder
    if encoder is None:
        raise RuntimeError(f"the compiled tokenizer does not serve {name}")
    count = Count(name)
    for batch in _batches(islice(lines(), most)):
        _compare(count, encoder, library, batch)
        if count.lines % 100_000 < _BATCH:
            print(f"{name}: {count.lines:,} lines, {count.wrong} wrong", file=sys.stderr, flush=True)
    return count


def _compare(count: Count, encoder: Encoder, library: tokenizers.Tokenizer, batch: Sequence[str]) -> None:
    texts = [*batch, "\n".join(batch)]
    wanted = library.encode_batch_fast(texts, add_special_tokens=False)
    for text, encoding in zip(texts, wanted, strict=True):
        found = encoder.ids(text)
        count.tokens += len(encoding.ids)
        count.text_bytes += len(text.encode())
        if found is None:
            count.unsure += 1
        elif list(found) != encoding.ids:
            count.wrong += 1
            if count.wrong <= _SHOWN:
                print(f"{count.name}: {text[:200]!a}", file=sys.stderr)
    count.lines += len(batch)
    count.digest.update("\n".join(batch).encode())


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(texts)
    while batch := list(islice(rest, _BATCH)):
        yield batch


if __name__ == "__main__":
    main()
