"""Reads a manifest file. Never knows what may stand in it: see `validate`."""

from collections.abc import Hashable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from trellis_operator.errors import ManifestError

MAX_BYTES = 1 << 20
"""What an API server takes at most is a little more."""

_MAX_NODES = 100_000
_MAX_DEPTH = 50


def read_manifest(path: Path) -> Any:
    """Read the one YAML or JSON document of a file.

    Raises:
        ManifestError: the file cannot be read, is too long, is not YAML, or holds another number of documents.
    """
    documents = [document for document in _documents(path) if document is not None]
    if len(documents) != 1:
        raise ManifestError(f"holds {len(documents)} documents: exactly one is read")
    if sum(1 for _ in islice(_nodes(documents[0]), _MAX_NODES + 1)) > _MAX_NODES:
        raise ManifestError(f"unfolds to more than {_MAX_NODES} values")
    return documents[0]


def _nodes(value: Any, depth: int = 0) -> Iterator[None]:
    """Count a document as those who walk it will meet it: aliases unfold, and may unfold without end."""
    if depth > _MAX_DEPTH:
        raise ManifestError(f"is nested more than {_MAX_DEPTH} deep")
    yield
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _nodes(inner, depth + 1)


def _documents(path: Path) -> list[Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ManifestError(f"is longer than {MAX_BYTES} bytes")
        return list(yaml.load_all(data.decode("utf-8"), Loader=_Loader))
    except OSError as error:
        raise ManifestError(f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ManifestError(f"is not UTF-8: {error}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ManifestError(f"is not YAML: {' '.join(str(error).split())}") from error


class _Loader(yaml.SafeLoader):
    """A key that is given twice is refused, as kubectl does: one of the two would be lost in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} is given twice", key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)
