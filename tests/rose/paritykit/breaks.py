"""`Break`: one thing changed for the worse, before a model is loaded. What still passes then, compares nothing."""

from collections.abc import Callable
from typing import Any

import pytest

Break = Callable[[pytest.MonkeyPatch], None]


def instead(owner: Any, name: str, make: Callable[[Any], Any]) -> Break:
    """What `make` makes of an attribute, in its place."""
    return lambda patch: patch.setattr(owner, name, make(getattr(owner, name)))


def entry(table: dict[Any, Any], key: Any, make: Callable[[Any], Any]) -> Break:
    """What `make` makes of an entry of a table, in its place."""
    return lambda patch: patch.setitem(table, key, make(table[key]))


def together(*breaks: Break) -> Break:
    """Several at once."""

    def apply(patch: pytest.MonkeyPatch) -> None:
        for each in breaks:
            each(patch)

    return apply
