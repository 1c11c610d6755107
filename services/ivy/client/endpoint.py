"""`Endpoint`: what the gateway knows of one engine. State and its changes; no clock, no network."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ivy.client.card import Card

RAMP_S = 10.0
"""How long a new or returned engine takes to get its full share: its caches are cold."""
LEAST_WEIGHT = 0.1
PATIENCE = 3
"""Looks without an answer until an engine counts as gone: one that is busy may be slow to say so."""


@dataclass(slots=True)
class Endpoint:
    """One engine, at one address."""

    address: str
    card: Card | None = None
    """The last one seen; None until the first."""
    ready: bool = False
    ready_since: float = 0.0
    outstanding_tokens: int = 0
    """Sent by this gateway and not yet answered."""
    failures: int = 0
    """Calls in a row that did not reach the engine or lost it."""
    ejections: int = 0
    """In a row: the next one lasts twice as long."""
    ejected_until: float = 0.0
    silent_looks: int = 0

    def seen_ready(self, card: Card, now: float) -> None:
        """It says that it serves."""
        if not self.ready or self.card is None or self.card.digest != card.digest:
            self.ready_since = now
        self.card, self.ready, self.silent_looks = card, True, 0

    def seen_down(self) -> None:
        """It says that it does not serve, or cannot be reached."""
        self.ready, self.silent_looks = False, 0

    def seen_silent(self) -> None:
        """It did not answer in time."""
        self.silent_looks += 1
        if self.silent_looks >= PATIENCE:
            self.ready = False

    def serves(self, digest: str) -> bool:
        """Whether it is ready with the model of this digest."""
        return self.ready and self.card is not None and self.card.digest == digest

    def load(self, tokens: int, now: float) -> float:
        """How heavy it would be with `tokens` more: what waits, and more of it while it is new."""
        ramp = min(max((now - self.ready_since) / RAMP_S, LEAST_WEIGHT), 1.0)
        return (self.outstanding_tokens + tokens) / ramp

    @contextmanager
    def lease(self, tokens: int) -> Iterator[None]:
        """Count `tokens` as outstanding for as long as a call lasts."""
        self.outstanding_tokens += tokens
        try:
            yield
        finally:
            self.outstanding_tokens -= tokens
