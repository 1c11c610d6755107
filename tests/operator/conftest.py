"""Bodies and programs that the operator's tests start from."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def examples() -> Path:
    return ROOT / "examples"


@pytest.fixture
def minimal(examples: Path) -> dict[str, Any]:
    """A fresh copy of the small example's body."""
    return _body(examples / "minilm.yaml")


@pytest.fixture
def full(examples: Path) -> dict[str, Any]:
    """A fresh copy of the body with every optional field."""
    return _body(examples / "full.yaml")


@pytest.fixture
def write_manifest(tmp_path: Path) -> Callable[[dict[str, Any]], Path]:
    """Writes a body as a manifest file."""

    def write(body: dict[str, Any]) -> Path:
        path = tmp_path / "manifest.yaml"
        path.write_text(yaml.safe_dump(body))
        return path

    return write


def _body(path: Path) -> dict[str, Any]:
    body: dict[str, Any] = copy.deepcopy(yaml.safe_load(path.read_text()))
    return body
