"""TCP ports of this machine. Never knows what they are for."""

import contextlib
import errno
import socket

from trellis_operator.errors import LocalError


def claim(host: str, port: int) -> int:
    """Check that a port can be listened on; 0 finds a free one.

    The port is free again on return: between then and the program's own bind another program may take it, and
    that program then says so.

    Raises:
        LocalError: it is taken, or not ours to take.
    """
    with _bound(host, port) as listener:
        return int(listener.getsockname()[1])


def free_ports(host: str, count: int) -> list[int]:
    """Find distinct free ports."""
    with contextlib.ExitStack() as stack:
        return [int(stack.enter_context(_bound(host, 0)).getsockname()[1]) for _ in range(count)]


def _bound(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        taken = error.errno == errno.EADDRINUSE
        reason = "is taken by another program" if taken else f"cannot be used: {error.strerror}"
        raise LocalError(f"port {port} of {host} {reason}; choose another one with --port") from error
    return listener
