"""A model folder as it lies on disk: its JSON files, read with errors that name the file. Knows no torch."""

import json
from pathlib import Path
from typing import Any

from tulip_rose.rose.errors import LoadError


def read_json(folder: Path, name: str, *, required: bool = False) -> Any:
    """Read `folder/name`; None where it is absent and not required.

    Raises:
        LoadError: the file is required and absent, or is not JSON.
    """
    path = folder / name
    if not path.is_file():
        if required:
            raise LoadError(f"{path}: no such file; a model folder has a {name}")
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise LoadError(f"{path}: not readable as JSON: {error}") from error


def read_object(folder: Path, name: str, *, required: bool = False) -> dict[str, Any]:
    """Read `folder/name` as a JSON object; empty where it is absent and not required.

    Raises:
        LoadError: as `read_json`, or the file holds something else than an object.
    """
    value = read_json(folder, name, required=required)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise LoadError(f"{folder / name}: a JSON object was expected")
    return value
