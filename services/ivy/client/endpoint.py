"""`Endpoint`: what the gateway knows of one engine. State and its changes; no clock, no network."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ivy.client.card import Card
from ivy.client.speed import Speed
from ivy.client.target import Standing

LEAST_SHARE = 0.1
"""Of a new engine, when its slow start begins."""
PATIENCE = 3
"""Looks without an answer until an engine counts as gone: one that is busy may be slow to say so."""


@dataclass(slots=True)
class Endpoint:
    """One engine, at one address."""

    address: str
    card: Card | None = None
    """The last one seen; None until the first."""
    slow_start_s: float = 10.0
    """How long it takes to get its full share, new or returned: its caches are cold. 0: it has it at once."""
    standing: Standing = Standing.READY
    """What is said of it where it was found."""
    warm: bool = False
    """Whether it has been at work for others, and so gets its full share as soon as it is seen."""
    seen: bool = False
    """Whether it was looked at, and what came of it is known."""
    ready: bool = False
    """Whether it says so itself."""
    lost: bool = False
    """It was ready, and then could not be reached or lost a call."""
    ready_since: float = 0.0
    outstanding_tokens: int = 0
    """Sent by this gateway and not yet answered."""
    speed: Speed = field(default_factory=Speed)
    failures: int = 0
    """Calls in a row that did not reach the engine or lost it."""
    ejections: int = 0
    """In a row: the next one lasts twice as long."""
    ejected_until: float = 0.0
    silent_looks: int = 0

    @property
    def told(self) -> tuple[bool, bool, bool, Card | None]:
        """What looks have told: whatever is decided about all engines goes by it, and by their standing."""
        return self.seen, self.ready, self.lost, self.card

    def stand(self, standing: Standing, now: float) -> None:
        """Something new may be said of it. Its slow start begins when it begins to get work."""
        if standing is Standing.READY and self.standing is not Standing.READY:
            self.ready_since = now
        self.standing = standing

    def seen_ready(self, card: Card, now: float) -> None:
        """It says that it serves."""
        if not self.ready or self.card is None or self.card.digest != card.digest:
            self.ready_since = now - self.slow_start_s if self.warm else now
        self.card, self.ready, self.lost, self.silent_looks = card, True, False, 0
        self.seen, self.warm = True, False

    def seen_down(self) -> None:
        """It says that it does not serve: it starts, or it ends."""
        self.ready, self.silent_looks, self.seen = False, 0, True

    def seen_lost(self) -> None:
        """It cannot be reached, or did not do what it said that it would."""
        self.ready, self.lost, self.silent_looks, self.seen = False, True, 0, True

    def seen_silent(self) -> None:
        """It did not answer in time."""
        self.silent_looks += 1
        if self.silent_looks >= PATIENCE:
            self.seen_lost()

    def serves(self, digest: str) -> bool:
        """Whether it is there to stay, and ready with the model of this digest."""
        return self.ready and self.standing is not Standing.LEAVING and self._has(digest)

    def fails(self, digest: str | None) -> bool:
        """Whether it is known that it takes no work for this digest, or for any where none is known yet."""
        return self.seen and not (self.ready and (digest is None or self._has(digest)))

    def lingers(self, digest: str) -> bool:
        """Whether it is on its way out and may still take a call for this digest: engines do so for a while."""
        return self.standing is Standing.LEAVING and not self.lost and self._has(digest)

    def _has(self, digest: str) -> bool:
        return self.card is not None and self.card.digest == digest

    def share(self, now: float) -> float:
        """The part of a full share that it may have by now."""
        age = now - self.ready_since
        return 1.0 if age >= self.slow_start_s else max(age / self.slow_start_s, LEAST_SHARE)

    def load(self, tokens: int, now: float) -> float:
        """How heavy it would be with `tokens` more. What waits weighs more where less of it may wait.

        The call's own tokens are not scaled: else an idle engine in its slow start would get nothing beside other idle
        ones, and its full share at once in the end.
        """
        return self.outstanding_tokens / self.share(now) + tokens

    @contextmanager
    def lease(self, tokens: int) -> Iterator[None]:
        """Count `tokens` as outstanding for as long as a call lasts."""
        self.outstanding_tokens += tokens
        try:
            yield
        finally:
            self.outstanding_tokens -= tokens
