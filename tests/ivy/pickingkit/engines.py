"""Made-up engines as a gateway sees them."""

from ivy.client.card import Card
from ivy.client.endpoint import Endpoint

LATE = 1000.0
"""Long after every engine's slow start."""


def engine(name: str, digest: str = "one", *, ready: bool = True, outstanding: int = 0, since: float = 0.0) -> Endpoint:
    card = Card(digest, 8, frozenset(), 256, 30522, 4096, 65536)
    return Endpoint(name, card, ready=ready, ready_since=since, outstanding_tokens=outstanding)
