"""What goes wrong with answers of a hub."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Fault:
    """What goes wrong with answers whose path matches, so many times.

    Attributes:
        path: pattern of the path.
        times: how often.
        status: is answered in place of the file.
        headers: go with that status.
        after: so many bytes of the body are sent, and then
        then: this is called; the connection is closed when it returns False.
        damage: changes the body.
        ignore_range: sends the whole file, whatever part was asked for.
    """

    path: str
    times: int = 1
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    after: int | None = None
    then: Callable[[], bool] = lambda: False
    damage: Callable[[bytes], bytes] | None = None
    ignore_range: bool = False


def told(fault: dict[str, Any]) -> Fault:
    """A fault as JSON tells it: `stall_s` holds the answer for so long, `damage` changes its first byte."""
    stall_s, damage = fault.pop("stall_s", 0), fault.pop("damage", False)
    return Fault(
        **fault,
        then=lambda: bool(time.sleep(stall_s)),
        damage=(lambda body: bytes([body[0] ^ 1]) + body[1:]) if damage else None,
    )
