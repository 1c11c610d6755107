"""What is aimed at on one H200, from ids to a vector, and what nobody can beat there. Nothing of it was measured by us.

The floor: weights read once at 4.3 TB/s, or FLOPs at 790 TFLOP/s. The aims and the published numbers are those of
docs/gpu.md.
"""

from dataclasses import dataclass

GPU_OF_TARGETS = "H200"


@dataclass(frozen=True)
class Target:
    """A line of the table of latencies.

    Attributes:
        name: in the table.
        ms: by tokens of one text.
        tokens_per_s: of texts of 512 tokens.
    """

    name: str
    ms: dict[int, float]
    tokens_per_s: float


def _line(name: str, short: float | None, others: tuple[float | None, ...], tokens_per_s: float) -> Target:
    lengths = (16, 32, 64, 128, 512, 4096)
    values = (short, short, short, *others)
    return Target(
        name, {length: ms for length, ms in zip(lengths, values, strict=True) if ms is not None}, tokens_per_s
    )


TARGETS = {
    "qwen3-0.6b": (
        _line("floor", 0.21, (0.24, 0.65, 9.4), 791_000),
        _line("aim", 0.50, (0.60, 0.95, 12.5), 550_000),
        _line("Perplexity, published", None, (1.88, None, 15.41), 474_000),
        _line("vLLM 0.22, published by Perplexity", None, (4.94, None, 16.15), 462_000),
    ),
    "bge-m3": (
        _line("floor", 0.14, (0.17, 0.42, 5.2), 1_210_000),
        _line("aim", 0.40, (0.45, 0.70, 7.0), 900_000),
        _line("Perplexity, published", None, (1.53, None, 9.57), 768_000),
        _line("vLLM, published by Perplexity", None, (4.60, None, 11.71), 687_000),
    ),
}
