"""`spec.engine.cudaGraphs` as a frozen value: which graphs an engine makes, and which before it gets ready."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Graphs:
    """Of engines on an accelerator.

    Attributes:
        mode: lazy or off.
        token_multiple: tokens of a batch are padded up to a multiple of it.
        slots: sequences of a batch are padded up to one of these; ascending.
        prewarm: tokens and slots of the graphs that are captured before an engine gets ready.
        on_capture_failure: eager or fail.
    """

    mode: str
    token_multiple: int
    slots: tuple[int, ...]
    prewarm: tuple[tuple[int, int], ...]
    on_capture_failure: str

    @property
    def off(self) -> bool:
        """Whether there are to be none."""
        return self.mode == "off"

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> "Graphs":
        """Read `spec.engine.cudaGraphs`, valid and with its defaults."""
        return cls(
            mode=spec["mode"],
            token_multiple=spec["tokenBucketMultiple"],
            slots=tuple(sorted(spec["sequenceSlots"])),
            prewarm=tuple((key["tokens"], key["sequences"]) for key in spec.get("prewarm", ())),
            on_capture_failure=spec["onCaptureFailure"],
        )
