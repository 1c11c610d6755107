"""Reads a manifest file. Never knows what may stand in it: see `validate`."""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from trellis_operator.errors import ManifestError

MAX_BYTES = 1 << 20
"""What an API server takes at most is a little more."""


def read_manifest(path: Path) -> Any:
    """Read the one YAML or JSON document of a file.

    Raises:
        ManifestError: the file cannot be read, is too long, is not YAML, or holds another number of documents.
    """
    documents = [document for document in _documents(path) if document is not None]
    if len(documents) != 1:
        raise ManifestError(f"holds {len(documents)} documents: exactly one is read")
    return documents[0]


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
