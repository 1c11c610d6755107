"""How far one engine's warm-up is and what it holds, as the engine tells it. Never knows how it was asked."""

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
        crowded: sizes of which a step had no room in memory, and what was said; their batches are split.
        contents: a name for the files that it has loaded; empty before that.
        revision: that the source had for them; empty where none is known.
    """

    pod: str
    stage: str
    keys: int = 0
    captured: int = 0
    key: str = ""
    has_graphs: bool = False
    failures: tuple[tuple[str, str], ...] = ()
    contents: str = ""
    revision: str = ""
    crowded: tuple[tuple[str, str], ...] = ()

    @property
    def done(self) -> bool:
        """Whether nothing is left to do before it gets ready."""
        return self.stage == "done"
