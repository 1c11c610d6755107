"""News of engines for gateways, as often as they come where time passes faster.

A gateway hears of its Service once a minute at least: by a bookmark of the API server, where nothing changes. Rules in
fast motion would take that minute for most of an hour.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

from e2ekit.kubectl import Kubectl, RefusedError
from e2ekit.repeating import repeating

_EVERY_S = 3.0
_ANNOTATION = "trellis-e2e.dev/news"


@contextmanager
def frequent_news(kubectl: Kubectl) -> Iterator[None]:
    """Something about every Service of a namespace is new every few seconds, while inside."""
    numbers = itertools.count()

    def annotate() -> None:
        try:
            kubectl.run("annotate", "endpointslices", "--all", "--overwrite", f"{_ANNOTATION}={next(numbers)}")
        except RefusedError:
            return  # the API server is away, and so are the news

    with repeating(annotate, _EVERY_S):
        yield
