"""A server of the tests: started in the network that `enter` leads into, asked from there, ended. Knows no program."""

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from e2ekit.waiting import until

_ASK_S = 10.0
_READY_S = 60.0
_END_S = 20.0


def program(name: str, package: str) -> str:
    """The path of a program of a Debian package; fails, and does not skip, where it is not there."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not on this machine (Debian: apt-get install {package})", pytrace=False)
    return found


@dataclass(frozen=True)
class Server:
    """A running one.

    Attributes:
        enter: what precedes a command that reaches it.
        url: as it is reached from there.
    """

    enter: tuple[str, ...]
    url: str
    log: Path
    process: "subprocess.Popen[bytes]"

    def get(self, path: str, **parameters: str) -> str:
        """The body of an answer, whatever its status.

        Raises:
            ConnectionError: there was none.
        """
        done = self._curl(f"{path}?{urlencode(parameters)}" if parameters else path)
        if done.returncode:
            raise ConnectionError(done.stderr.strip())
        return done.stdout

    def json(self, path: str, **parameters: str) -> Any:
        """An answer that is JSON."""
        return json.loads(self.get(path, **parameters))

    def jsons(self, asked: Sequence[str]) -> list[Any]:
        """Answers of one line each to several paths with their queries, in their order, by one command."""
        *others, last = asked
        done = self._curl(last, "-w", r"\n", *(self.url + path for path in others))
        if done.returncode:
            raise ConnectionError(done.stderr.strip())
        return [json.loads(line) for line in done.stdout.splitlines()]

    def is_ready(self) -> bool:
        """Whether it says so; fails where it has ended."""
        assert self.process.poll() is None, self.log.read_text(encoding="utf-8")
        return self._curl("/-/ready", "--fail").returncode == 0

    def _curl(self, path: str, *flags: str) -> "subprocess.CompletedProcess[str]":
        command = [*self.enter, "curl", "-sS", "--noproxy", "*", "--globoff", *flags, self.url + path]
        return subprocess.run(command, capture_output=True, text=True, timeout=_ASK_S, check=False)


@contextmanager
def serving(command: Sequence[str], url: str, log: Path, enter: Sequence[str] = ()) -> Iterator[Server]:
    """A server that says at `/-/ready` when it is, while inside."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*enter, *command], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    server = Server(tuple(enter), url, log, process)
    try:
        until(server.is_ready, f"it is ready: {command[0]}; {log}", _READY_S)
        yield server
    finally:
        process.terminate()
        process.wait(_END_S)
