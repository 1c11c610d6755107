"""The operator of this checkout as a process, in the cluster's network, with the rights of the kubeconfig."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from e2ekit.cluster import Cluster
from e2ekit.images import Images
from roadkit.ports import free_ports

_STOP_TIMEOUT_S = 30.0


@dataclass
class OperatorProcess:
    """May be stopped, killed and started again; what it prints goes to `log`.

    Attributes:
        namespace: the only one that it looks after.
        program: what the interpreter is to run.
        environment: what stands beside that of the tests.
    """

    cluster: Cluster
    images: Images
    namespace: str
    log: Path
    flags: tuple[str, ...] = ()
    program: tuple[str, ...] = ("-m", "trellis_operator", "run")
    environment: dict[str, str] = field(default_factory=dict)
    ports: list[int] = field(default_factory=lambda: free_ports(2))
    process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it; does not wait until it is ready."""
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [*self.cluster.enter, sys.executable, *self.program, *self._flags()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | self.environment | {"PYTHONUNBUFFERED": "1"},
            )

    def _flags(self) -> list[str]:
        health, metrics = self.ports
        return [
            *("--namespace", self.namespace, "--lease-namespace", self.namespace),
            *("--engine-image", self.images.engine, "--gateway-image", self.images.gateway),
            *("--fetch-image", self.images.operator, "--image-pull-policy", "IfNotPresent"),
            *("--listen-health", f"127.0.0.1:{health}", "--listen-metrics", f"127.0.0.1:{metrics}"),
            *self.flags,
        ]

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process is not None and self.process.poll() is None

    def stop(self) -> int:
        """SIGTERM, and the exit code."""
        return self._end(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL: it has no time for anything."""
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> int:
        assert self.process is not None
        if self.alive:
            self.process.send_signal(how)
        try:
            return self.process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"the operator did not end within {_STOP_TIMEOUT_S:g} s of {how.name}") from None

    def tail(self, lines: int = 60) -> str:
        """What it said last."""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
