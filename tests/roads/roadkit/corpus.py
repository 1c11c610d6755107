"""200 texts: English, code, every script of the UDHR, from the shortest to 256 tokens. The same in every run."""

from itertools import islice
from pathlib import Path
from random import Random

from roadkit.udhr import texts_by_script
from tokenizers import Tokenizer

from bench.texts import code, cut, endless, english

COUNT = 200
_SEED = 20
_CODE = 40
_EDGES = (3, 4, 5, 63, 64, 65, 127, 128, 129, 254, 255, 256)


def make_corpus(tokenizer: Tokenizer, cache: Path) -> list[str]:
    """Choose the texts.

    Args:
        tokenizer: counts tokens; it neither truncates nor pads.
        cache: downloads go here.
    """
    random = Random(_SEED)
    scripts = [text for each in texts_by_script(cache).values() for text in _two(each, random)]
    english_count = COUNT - _CODE - len(scripts)
    long = [
        *islice(endless(english(), random), english_count),
        *islice(endless(code(), random, separator="\n\n"), _CODE),
        *scripts,
    ]
    lengths = [*_EDGES, *(random.randint(3, 256) for _ in range(COUNT - len(_EDGES)))]
    texts = [cut(text, length, tokenizer) for text, length in zip(long, lengths, strict=True)]
    random.shuffle(texts)
    return texts


def _two(paragraphs: list[str], random: Random) -> list[str]:
    return list(islice(endless(paragraphs, random), 2))
