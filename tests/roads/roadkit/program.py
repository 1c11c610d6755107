"""Child processes of the tests: started, heard, stopped. Never knows what a program does."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_STOP_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Program:
    """One running child; all that it prints goes to `log`."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def resident_bytes(self) -> int:
        return int(psutil.Process(self.pid).memory_info().rss)

    def tail(self, lines: int = 25) -> str:
        """The last lines of the log."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def terminate(self) -> None:
        """SIGTERM; does not wait."""
        if self.alive:
            self.process.send_signal(signal.SIGTERM)

    def wait(self, timeout_s: float = _STOP_TIMEOUT_S) -> int:
        """The exit code; fails when the program does not end in time."""
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} did not end within {timeout_s:g} s; it said:\n{self.tail()}") from None

    def kill(self) -> None:
        """SIGKILL, and wait for the end."""
        if self.alive:
            self.process.kill()
        self.process.wait(_STOP_TIMEOUT_S)


class Programs:
    """All children of one test session. `folder` gets their logs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._started: list[Program] = []

    def python(self, name: str, arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> Program:
        """Start this interpreter with `arguments`."""
        log = self.folder / f"{len(self._started):02d}-{name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | {"PYTHONUNBUFFERED": "1"} | dict(environment or {}),
            )
        program = Program(name, process, log)
        self._started.append(program)
        return program

    def living(self) -> list[Program]:
        """Those that have not ended."""
        return [program for program in self._started if program.alive]

    def stop(self, *programs: Program) -> None:
        """Ask these to end, and kill what does not; with none given, all."""
        chosen = programs or tuple(self.living())
        for program in chosen:
            program.terminate()
        for program in chosen:
            try:
                program.process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                program.kill()

    def last_words(self) -> list[tuple[str, str]]:
        """Name and last lines of each program that runs, or that ended with an error."""
        return [(each.name, each.tail()) for each in self._started if each.process.poll() != 0]
