"""`Page`: what is known by now, written before each part begins, since what ends a process takes the rest with it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from bench.gpu.model_run import ModelRun
from bench.record import write


@dataclass
class Page:
    """Of one command.

    Attributes:
        name: of the files.
        title: its heading.
        around: see `record.surroundings`.
        folder: of the files.
        runs: those that have begun.
    """

    name: str
    title: str
    around: dict[str, str]
    folder: Path
    runs: list[ModelRun] = field(default_factory=list)

    @property
    def failures(self) -> list[str]:
        """Of all models."""
        return [line for run in self.runs for line in run.failures.lines]

    def write(self, under_way: str = "") -> Path:
        """Write it, as it has to read should the process end in what is under way; empty: nothing is.

        Returns:
            The Markdown.
        """
        failures = [*self.failures, *([f"the process ended in {under_way}"] if under_way else [])]
        left_out = [what for run in self.runs for what in run.clock.left_out]
        data = {run.key: run.data for run in self.runs} | {"failures": failures, "left out": left_out}
        return write(self.name, self.title, self.around, list(self._sections(failures, left_out)), data, self.folder)

    def _sections(self, failures: list[str], left_out: list[str]) -> Iterator[tuple[str, str]]:
        yield "Right or wrong", _listed(failures) or "Everything that was checked holds."
        for run in self.runs:
            yield from run.sections
        yield "Left out", _listed(left_out) or "Nothing."


def _listed(lines: list[str]) -> str:
    return "\n".join(f"- {each}" for each in lines)
