"""What was seen, from a file: counts of batches as JSON, or what an engine's `/metrics` says. Knows no plan."""

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tulip_rose.rose.plan.observed import ANY, Histogram, Observed
from tulip_rose.tulip.errors import ConfigError

_MOST_BYTES = 64 * 1024 * 1024
_TOKENS, _SEQUENCES = "trellis_engine_batch_tokens", "trellis_engine_batch_sequences"
_FORM = '{"batches": [[SEQUENCES, TOKENS, COUNT], ...]}'


def read_observed(name: str, longest: int) -> tuple[Observed, bool]:
    """What the file of that name says; `-` is standard input.

    Args:
        name: of the file.
        longest: tokens of the longest input.

    Returns:
        The batches, and whether they are an estimate, made of two histograms.

    Raises:
        ConfigError: it cannot be read, or tells of no batch; names the file.
    """
    text = _text(name)
    estimate = not text.lstrip().startswith("{")
    try:
        return (of_metrics if estimate else of_json)(text, longest), estimate
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from error


def of_json(text: str, longest: int = ANY) -> Observed:
    """Counts of batches by sequences and tokens.

    Raises:
        ValueError: it is not of that form, or tells of no batch.
    """
    value = json.loads(text)
    batches = value.get("batches")
    if set(value) != {"batches"} or not isinstance(batches, list):
        raise ValueError(f"expected {_FORM}")
    counts: Counter[tuple[int, int]] = Counter()
    for index, batch in enumerate(batches):
        if not isinstance(batch, list) or len(batch) != 3 or not all(type(number) is int for number in batch):
            raise ValueError(f"batches[{index}] is not [SEQUENCES, TOKENS, COUNT], three whole numbers")
        counts[batch[0], batch[1]] += batch[2]
    return Observed.of(counts, longest)


def of_metrics(text: str, longest: int = ANY) -> Observed:
    """The histograms of batches in Prometheus' text, those of several engines together.

    Raises:
        ValueError: they are not there, or empty.
    """
    above: dict[str, dict[float, float]] = {_TOKENS: defaultdict(float), _SEQUENCES: defaultdict(float)}
    for family in text_string_to_metric_families(text):
        for sample in family.samples if family.name in above else ():
            if sample.name == f"{family.name}_bucket":
                above[family.name][float(sample.labels["le"])] += sample.value
    for name, found in above.items():
        if not found:
            raise ValueError(f"no {name}_bucket in it; expected an engine's /metrics, or {_FORM}")
    return Observed.coupled(_buckets(above[_SEQUENCES]), _buckets(above[_TOKENS]), longest)


def _buckets(above: dict[float, float]) -> Histogram:
    """Of counts up to each edge those between the edges; what lies beyond the last one counts as it."""
    *edges, beyond = sorted(above)
    ends = [above[edge] for edge in edges]
    if beyond != float("inf") or not ends or any(edge < 1 or edge != int(edge) for edge in edges):
        raise ValueError("the edges of a histogram are not whole numbers and then +Inf")
    ends[-1] = above[beyond]
    counts = [end - before for before, end in zip([0.0, *ends], ends, strict=False)]
    if min(counts) < 0:
        raise ValueError("a histogram falls from one edge to the next")
    return Histogram(tuple(map(int, edges)), tuple(counts))


def _text(name: str) -> str:
    try:
        if name == "-":
            raw = sys.stdin.buffer.read(_MOST_BYTES + 1)
        else:
            with Path(name).open("rb") as file:
                raw = file.read(_MOST_BYTES + 1)
        if len(raw) > _MOST_BYTES:
            raise ConfigError(f"{name}: larger than {_MOST_BYTES >> 20} MiB")
        return raw.decode()
    except OSError as error:
        raise ConfigError(f"{name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name}: not text in UTF-8") from error
