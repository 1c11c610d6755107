"""Ports that nobody listens on now, and that no outgoing connection gets meanwhile."""

import random
import socket
from contextlib import ExitStack

_RANGE = range(12000, 30000)
"""Below what systems take for outgoing connections (Linux: 32768), between the ports of Kubernetes' own programs and
its NodePorts (30000): who listens does so later, and maybe in the network of a cluster."""


def free_ports(count: int) -> list[int]:
    """Distinct ports of the loopback."""
    found = list[int]()
    with ExitStack() as stack:
        for port in random.sample(_RANGE, len(_RANGE)):
            if len(found) == count:
                return found
            listener = stack.enter_context(socket.socket())
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
    raise OSError(f"no {count} ports are free in {_RANGE}")
