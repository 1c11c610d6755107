"""Whether a pod that finds no node waits for a volume and not for room, from what the scheduler says. Pure.

To the scheduler both are "Unschedulable", but no engine that goes makes a claim appear. The words are those of
kube-scheduler's VolumeBinding plugin.
"""

import re
from dataclasses import dataclass

_GONE = re.compile(r'persistentvolumeclaim "([^"]+)" (?:not found|is being deleted|bound to non-existent)')
_UNBOUND = ("unbound immediate PersistentVolumeClaims", "didn't find available persistent volumes to bind")
_ROOM = "Insufficient "


@dataclass(frozen=True)
class VolumeWait:
    """What a pod waits for.

    Attributes:
        found: whether the claim is there, and it is its volume that is missing.
        claim: its name; empty where the scheduler does not say.
    """

    found: bool
    claim: str = ""


def volume_wait(said: str) -> VolumeWait | None:
    """The claim that a pod waits for; None where it waits for something else, or for room as well."""
    gone = _GONE.search(said)
    if gone:
        return VolumeWait(found=False, claim=gone[1])
    if _ROOM not in said and any(words in said for words in _UNBOUND):
        return VolumeWait(found=True)
    return None
