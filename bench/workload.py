"""What is measured: the texts of each workload, the same for every contender. Knows no contender."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from bench.texts import code, cut, endless, english, plain

MAX_TOKENS = 256
SEED = 3
_CODE_SHARE = 0.15
# Of a log-normal: half of the texts below 45 tokens, one in ten above 150: queries, sentences and full passages.
_MEDIAN_TOKENS = 45
_SIGMA = 0.95


@dataclass(frozen=True)
class Workload:
    """Calls of some texts each.

    Attributes:
        name: in tables.
        calls: the texts of each call.
        latency: whether a call's time is what counts, or the time of all.
    """

    name: str
    calls: tuple[tuple[str, ...], ...]
    latency: bool

    @property
    def texts(self) -> int:
        """Of all calls."""
        return sum(map(len, self.calls))

    @property
    def digest(self) -> str:
        """Tells whether two runs had the same texts."""
        joined = "\0".join(text for call in self.calls for text in call)
        return hashlib.sha256(joined.encode()).hexdigest()[:12]


def mixed(model: Path, count: int) -> list[str]:
    """English prose and code with a realistic mix of lengths, 3 to 256 tokens."""
    random, tokenizer = Random(SEED), plain(model / "tokenizer.json")
    prose, source = endless(english(), random), endless(code(), random, separator="\n\n")
    found = []
    for _ in range(count):
        length = round(random.lognormvariate(0, _SIGMA) * _MEDIAN_TOKENS)
        text = next(source if random.random() < _CODE_SHARE else prose)
        found.append(cut(text, min(MAX_TOKENS, max(3, length)), tokenizer))
    return found


def of_length(model: Path, tokens: int) -> Iterator[str]:
    """Distinct English texts of exactly this many tokens, special ones included."""
    tokenizer = plain(model / "tokenizer.json")
    for text in endless(english(), Random(SEED + tokens)):
        short = cut(text, tokens, tokenizer)
        if len(tokenizer.encode(short)) == tokens:
            yield short


def in_process(model: Path, texts: int) -> list[Workload]:
    """The workloads of a library call."""
    short, long, batch = of_length(model, 16), of_length(model, 128), of_length(model, 128)
    return [
        Workload(f"mixed {texts:,} texts", (tuple(mixed(model, texts)),), latency=False),
        Workload("1 x 16 tokens", tuple((text,) for text in islice(short, 100)), latency=True),
        Workload("1 x 128 tokens", tuple((text,) for text in islice(long, 50)), latency=True),
        Workload("25 x 128 tokens", tuple(tuple(islice(batch, 25)) for _ in range(4)), latency=True),
    ]
