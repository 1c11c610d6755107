"""What travels beside an Embed call: the ids of its request and of its trace. For logs; nothing is decided by it."""

import re
from collections.abc import Iterable

REQUEST_ID = "x-request-id"
TRACE_PARENT = "traceparent"

_SANE_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
_TRACE_PARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


def is_request_id(text: str) -> bool:
    """Whether an id that came from outside is fit for a header and a log."""
    return _SANE_ID.fullmatch(text) is not None


def ids_of(metadata: Iterable[tuple[str, str | bytes]]) -> dict[str, str]:
    """The ids that a log line has, where they came and are fit for it: `id` and `trace_id`."""
    given = {key: value for key, value in metadata if isinstance(value, str)}
    request_id, parent = given.get(REQUEST_ID, ""), _TRACE_PARENT.fullmatch(given.get(TRACE_PARENT, ""))
    ids = {"id": request_id} if is_request_id(request_id) else {}
    return ids | ({"trace_id": parent[1]} if parent else {})
