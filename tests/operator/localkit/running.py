"""`python -m trellis_operator local` as a process."""

import contextlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

DEADLINE_S = 120.0
LOCAL = (sys.executable, "-m", "trellis_operator", "local")


class Running:
    """A `local` under way, and what it has said so far."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen([*LOCAL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said: list[str] = []
        self.answers: list[str] = []
        self._listeners = [
            threading.Thread(target=lambda: self.said.extend(self.process.stderr or ())),
            threading.Thread(target=lambda: self.answers.extend(self.process.stdout or ())),
        ]
        for listener in self._listeners:
            listener.start()

    def until(self, holds: Callable[[], Any]) -> Any:
        """Poll until something holds; tell all that was said if it does not in time."""
        deadline = time.monotonic() + DEADLINE_S
        while not (value := holds()):
            if time.monotonic() > deadline or (self.process.poll() is not None and not holds()):
                pytest.fail("waited in vain; it said:\n" + "".join(self.said))
            time.sleep(0.05)
        return value

    def match(self, pattern: str) -> re.Match[str] | None:
        """The last line said that matches."""
        return next((found for line in reversed(self.said) if (found := re.search(pattern, line))), None)

    def until_ready(self) -> str:
        """Wait for the greeting; returns the URL."""
        ready = self.until(lambda: self.match(r"ready: (http\S+) serves"))
        self.until(lambda: sum(line.startswith(("curl", "python3")) for line in self.answers) == 2)
        return str(ready.group(1))

    def pid_of(self, name: str) -> int:
        """Of the newest run of a program."""
        ready = self.match(rf"{name}: ready after .* \(process (\d+)\)")
        assert ready, self.said
        return int(ready.group(1))

    def end(self, number: signal.Signals) -> int:
        """Send a signal and wait for the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(DEADLINE_S)
        for listener in self._listeners:
            listener.join(DEADLINE_S)
        return code


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[Running]:
    local = Running(*arguments, "--port", "0")
    try:
        yield local
    finally:
        if local.process.poll() is None:
            local.end(signal.SIGTERM)
