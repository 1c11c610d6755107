"""A million different lines in every script: the ids of the compiled tokenizer are those of the library, live.

The library reads 1 to 2 MB a second, so the lines are short: pieces of paragraphs in 500 languages, cut at any
character, some with a text in them that was made to break tokenizers. Longer ones are compared in `test_equal` and, a
million of whole lines, in `python -m bench.tokenize_equal`.
"""

from collections.abc import Iterator
from itertools import islice
from random import Random

import pytest

from bench.corpora import declarations

LINES = 1_000_000
LONGEST = 32
"""Characters; 16 on average, some 27 bytes."""
BATCH = 5_000
UNSURE = LINES // 100
SHOWN = 5


def lines(pieces: list[str]) -> Iterator[str]:
    """Different lines without end, the same ones each time."""
    random, paragraphs, met = Random(1), declarations(), set()
    while True:
        paragraph = paragraphs[random.randrange(len(paragraphs))]
        begin, size = random.randrange(len(paragraph)), random.randint(1, LONGEST)
        line = paragraph[begin : begin + size]
        if not random.randrange(8):
            place = random.randrange(len(line) + 1)
            line = line[:place] + pieces[random.randrange(len(pieces))] + line[place:]
        if line not in met:
            met.add(line)
            yield line


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("kind", "variant"), [("wordpiece", "lower case"), ("unigram", "spaces")])
def test_ids_of_a_million_lines_are_equal_and_few_are_left_to_the_library(both, pieces, kind, variant):
    library, encoder = both(kind, variant)
    rest, wrong, unsure, read = islice(lines(pieces), LINES), [], 0, 0
    while batch := list(islice(rest, BATCH)):
        for line, encoding in zip(batch, library.encode_batch_fast(batch, add_special_tokens=False), strict=True):
            found = encoder.ids(line)
            unsure += found is None
            if found is not None and list(found) != encoding.ids:
                wrong.append(line)
        read += len(batch)
    assert not wrong, (len(wrong), [ascii(line) for line in wrong[:SHOWN]])
    assert read == LINES
    assert unsure <= UNSURE
