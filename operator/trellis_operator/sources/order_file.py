"""Reads the file that tells `fetch` what to fetch: `spec.model.source` of a manifest, as JSON.

It is held against the CRD, so that this program and an API server mean the same. Never knows where it is fetched to.
"""

import json
from pathlib import Path

from trellis_operator import cel, crd, schema
from trellis_operator.source import FetchedSource, source_from
from trellis_operator.sources.failure import FetchError, Reason

_MAX_BYTES = 64 << 10


def read_source(path: Path) -> FetchedSource:
    """Read one source.

    Raises:
        FetchError: BAD_SOURCE when the file cannot be read, is no valid source, or names what is mounted.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_MAX_BYTES + 1)
        said = json.loads(data) if len(data) <= _MAX_BYTES else None
    except OSError as error:
        raise FetchError(Reason.BAD_SOURCE, f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise FetchError(Reason.BAD_SOURCE, f"{path} is not JSON: {error}") from error
    if not isinstance(said, dict):
        raise FetchError(Reason.BAD_SOURCE, f"{path} does not hold one JSON object of at most {_MAX_BYTES} bytes")
    source = source_from(_validated(said, path))
    if not isinstance(source, FetchedSource):
        raise FetchError(Reason.BAD_SOURCE, f"a source of the kind {next(iter(said))} is mounted: nothing is fetched")
    return source


def _validated(said: dict[str, object], path: Path) -> dict[str, object]:
    rules = crd.schema()["properties"]["spec"]["properties"]["model"]["properties"]["source"]
    filled: dict[str, object] = schema.with_defaults(said, rules)
    problems = [*schema.unknown_fields(said, rules), *schema.problems(filled, rules)]
    problems = problems or list(cel.broken_rules(filled, rules))
    if problems:
        raise FetchError(Reason.BAD_SOURCE, f"{path}: {'; '.join(problems)}")
    return filled
