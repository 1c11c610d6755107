"""`Module`: one entry of `modules.json`, the list of steps that sentence-transformers takes from texts to vectors.

Both package layouts are in use on published models. Here they are read; which of them make sense in which order is for
those to say who build something of them. Knows no torch.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.folder import read_json, read_object

_FILE = "modules.json"
_PACKAGE = "sentence_transformers"
_WRITES = "module_output_name"
_KEYS = frozenset({"idx", "kwargs", "name", "path", "type"})
_NAMES = frozenset({"module_input_name", _WRITES})
ROW = "sentence_embedding"
"""What sentence-transformers calls the rows, on their way from module to module."""
SCORES = "scores"
"""And what it calls them in the end, where they are scores."""


@dataclass(frozen=True, slots=True)
class Module:
    """A step."""

    kind: str
    """The class: its name alone for those of sentence-transformers, with its package for those of others."""
    folder: Path
    """Where its files lie."""

    @property
    def where(self) -> str:
        """The file that holds its settings, as errors name it."""
        return str(self.folder / "config.json")

    @property
    def scores(self) -> bool:
        """Whether its rows are scores: the end of a model."""
        return bool(read_object(self.folder, "config.json").get(_WRITES) == SCORES)

    def settings(self, known: frozenset[str], *, required: bool = True) -> dict[str, Any]:
        """Its settings.

        Args:
            known: keys that whoever asks understands.
            required: whether the file has to be there.

        Raises:
            LoadError: the file is missing, no JSON object, or has another key, which may change vectors.
        """
        found = read_object(self.folder, "config.json", required=required)
        strange = sorted(set(found) - known)
        if strange:
            raise LoadError(f"{self.where}: {strange[0]} is not known; known are {', '.join(sorted(known))}")
        return found

    def row_settings(
        self, known: frozenset[str] = frozenset(), *, required: bool = True, name: str = ROW
    ) -> dict[str, Any]:
        """As `settings`, of a step from rows to rows.

        Raises:
            LoadError: as `settings`, or it reads or writes something else than what has this name.
        """
        found = self.settings(known | _NAMES, required=required)
        for key in sorted(_NAMES):
            if found.get(key) not in (None, name) and not (key == _WRITES and self.scores):
                raise LoadError(f"{self.where}: {key} {found[key]!r} is not supported; known is {name!r}")
        return found


def read_modules(folder: Path) -> tuple[Module, ...] | None:
    """The steps in their order; None without a `modules.json`.

    Raises:
        LoadError: the file is no list of steps, or a step lies outside of the folder.
    """
    entries = read_json(folder, _FILE)
    if entries is None:
        return None
    if not isinstance(entries, list):
        raise LoadError(f"{folder / _FILE}: a list of modules was expected")
    return tuple(_module(folder, entry) for entry in entries)


def _module(folder: Path, entry: Any) -> Module:
    kind, path = (entry.get("type"), entry.get("path", "")) if isinstance(entry, dict) else (None, "")
    if not isinstance(kind, str) or not isinstance(path, str):
        raise LoadError(f"{folder / _FILE}: a list of objects with a type and a path was expected")
    strange = sorted(set(entry) - _KEYS)
    if strange:
        raise LoadError(f"{folder / _FILE}: {strange[0]} is not known; known are {', '.join(sorted(_KEYS))}")
    if entry.get("kwargs"):
        raise LoadError(f"{folder / _FILE}: kwargs {entry['kwargs']!r} is not supported: no request has such arguments")
    if Path(path).is_absolute() or ".." in Path(path).parts:
        raise LoadError(f"{folder / _FILE}: path {path!r} lies outside of the folder")
    return Module(_kind(kind), folder / path)


def _kind(name: str) -> str:
    package, _, rest = name.partition(".")
    return rest.rsplit(".", 1)[-1] if package == _PACKAGE and rest else name
