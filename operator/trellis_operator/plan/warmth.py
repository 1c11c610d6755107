"""How far one engine's warm-up is, as the engine tells it. Never knows how it was asked."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Warmth:
    """Of one engine.

    Attributes:
        pod: its name.
        stage: loading, capturing, verifying or done.
        keys: graphs that are to be captured before it gets ready.
        captured: those that are.
        key: the one that is under way, as TOKENSxSLOTS; empty where none is.
        has_graphs: whether its device has any, as far as it knows by then.
        failures: sizes that it serves without a graph since the capture failed, and why.
    """

    pod: str
    stage: str
    keys: int = 0
    captured: int = 0
    key: str = ""
    has_graphs: bool = False
    failures: tuple[tuple[str, str], ...] = ()

    @property
    def done(self) -> bool:
        """Whether nothing is left to do before it gets ready."""
        return self.stage == "done"
