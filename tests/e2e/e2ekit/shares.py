"""How the work of gateways is shared among engines, looked at twice a second from inside the cluster."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf

from e2ekit.kubectl import Kubectl
from e2ekit.pods import script_pod

_NAME = "shares"


@dataclass(frozen=True)
class Look:
    """What engines had got by then, in tokens by address; `at` is in seconds since 1970."""

    at: float
    tokens: dict[str, int]


@contextmanager
def looking(kubectl: Kubectl, image: str, urls: Sequence[str]) -> Iterator[Callable[[], list[Look]]]:
    """All looks at gateways until now, while inside; `urls` are those of their metrics."""
    kubectl.apply(*script_pod(_NAME, image, ["python", "/scripts/scrape.py", *urls], {}))
    kubectl.run("wait", "--for=condition=Ready", f"pod/{_NAME}", "--timeout=60s")
    try:
        yield lambda: [Look(**json.loads(line)) for line in kubectl.run("logs", _NAME).splitlines()]
    finally:
        kubectl.run("delete", f"pod/{_NAME}", f"configmap/{_NAME}", "--wait=false")


def first_work(looks: Sequence[Look], engine: str) -> float:
    """When an engine had not got anything for the last time; 0 where it has not got anything yet."""
    without = [look.at for look in looks if not look.tokens.get(engine)]
    return without[-1] if len(without) < len(looks) else 0.0


def share(looks: Sequence[Look], engine: str, begin: float, end: float = inf) -> float:
    """The part of all tokens that an engine got between two times."""
    first, *_, last = [look.tokens for look in looks if begin <= look.at <= end]
    got = {address: tokens - first.get(address, 0) for address, tokens in last.items()}
    return got[engine] / sum(got.values())
