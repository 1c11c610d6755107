"""News of engines for gateways, as often as they come where time passes faster.

A gateway hears of its Service once a minute at least: by a bookmark of the API server, where nothing changes. Rules in
fast motion would take that minute for half an hour.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from e2ekit.kubectl import Kubectl
from e2ekit.repeating import Repeated, repeating

_EVERY_S = 3.0
_ASK_S = 10.0
_ANNOTATION = "trellis-e2e.dev/news"


@contextmanager
def frequent_news(kubectl: Kubectl) -> Iterator[None]:
    """Something about every Service of a namespace is new every few seconds, while inside."""
    numbers = itertools.count()

    def annotate() -> None:
        # It fails while the API server is away, and so are the news.
        new = f"{_ANNOTATION}={next(numbers)}"
        kubectl.run("annotate", "endpointslices", "--all", "--overwrite", new, timeout_s=_ASK_S)

    with repeating(Repeated(annotate), _EVERY_S):
        yield
