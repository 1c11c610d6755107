"""Reads the Secrets that a model names, one by one: the operator may not list any.

Only hashes leave this file.
"""

import hashlib
import json
from collections.abc import Iterable

from trellis_operator.cluster.api import Api
from trellis_operator.kinds import SECRET


async def secret_hashes(api: Api, namespace: str, secrets: Iterable[str]) -> dict[str, str]:
    """Hash the contents of Secrets, by name; those that do not exist are left out."""
    hashes = {}
    for name in secrets:
        secret = await api.get(SECRET.path(namespace, name))
        if secret is not None:
            content = json.dumps(secret.get("data") or {}, sort_keys=True)
            hashes[name] = hashlib.sha256(content.encode()).hexdigest()[:16]
    return hashes
