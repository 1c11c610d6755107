"""Reads the Secrets that a model names, one by one: the operator may not list any.

Only hashes leave this file.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from trellis_operator.cluster.api import Api
from trellis_operator.cluster.errors import RefusedError
from trellis_operator.kinds import SECRET
from trellis_operator.status.refusal import Refusal, refusal


@dataclass(frozen=True)
class Secrets:
    """What was found of the Secrets of a model.

    Attributes:
        hashes: of contents, by name; those that do not exist or may not be read are left out.
        refusals: of those that may not be read.
    """

    hashes: dict[str, str] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)


async def read_secrets(api: Api, namespace: str, names: Iterable[str]) -> Secrets:
    """Read Secrets by name."""
    found = Secrets()
    for name in names:
        try:
            secret = await api.get(SECRET.path(namespace, name))
        except RefusedError as error:
            found.refusals.append(refusal((SECRET.name, name), error.code, error.message))
            continue
        if secret is not None:
            content = json.dumps(secret.get("data") or {}, sort_keys=True)
            found.hashes[name] = hashlib.sha256(content.encode()).hexdigest()[:16]
    return found
