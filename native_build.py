"""Compiles what is written in C++, by recipes: `python -m native_build FOLDER…`, from the root of the repository.

A recipe is a module of the program whose code it is, since programs share nothing: it says what is compiled and how,
and this file does it. Called when the package is built or installed for editing, where nothing is installed yet: both
use the standard library alone. Knows no program.
"""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, cast

_LIMIT_S = 300


class NotBuiltError(Exception):
    """There will be nothing compiled here; says why."""


class Recipe(Protocol):
    """What is compiled, and how. A module has these names."""

    __file__: str
    TARGET: Path
    """The library that is made; its sources lie beside it."""

    def sources(self) -> list[Path]:
        """Everything that the library is made of."""

    def units(self) -> Mapping[str, tuple[str, ...]]:
        """The names of what is compiled by itself, each with its flags."""

    def refusal(self) -> str | None:
        """Why it cannot be on this machine, if so."""


def recipe_of(folder: Path) -> Recipe:
    """The recipe in a folder, read without the program that it is a part of.

    Raises:
        FileNotFoundError: there is none.
    """
    path = folder / "recipe.py"
    spec = importlib.util.spec_from_file_location("recipe", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(Recipe, module)


def build(recipe: Recipe) -> Path:
    """Compile the library of a recipe, unless it is newer than its sources.

    Raises:
        NotBuiltError: another processor or system, no compiler, or an error of the compiler.
    """
    refusal = recipe.refusal()
    if refusal is not None:
        raise NotBuiltError(refusal)
    newest = max(path.stat().st_mtime for path in (Path(__file__), Path(recipe.__file__), *recipe.sources()))
    if not recipe.TARGET.exists() or recipe.TARGET.stat().st_mtime < newest:
        _compile(recipe, _compiler())
    return recipe.TARGET


def _compiler() -> list[str]:
    named = shlex.split(os.environ.get("CXX", ""))
    found = named or [name for name in ("g++", "c++", "clang++") if shutil.which(name)][:1]
    if not found:
        raise NotBuiltError("no C++ compiler was found; install g++, or name one in CXX")
    return found


def _compile(recipe: Recipe, compiler: list[str]) -> None:
    target, folder = recipe.TARGET, Path(recipe.__file__).parent
    with tempfile.TemporaryDirectory() as scratch:
        units = recipe.units()
        objects = [str(Path(scratch) / f"{unit}.o") for unit in units]
        for (unit, flags), made in zip(units.items(), objects, strict=True):
            _run([*compiler, *flags, "-c", str(folder / unit), "-o", made])
        whole = Path(scratch) / target.name
        _run([*compiler, "-shared", "-pthread", *objects, "-o", str(whole)])
        # Beside the target first: a process that has the old file mapped keeps it, and nobody sees half a file.
        beside = target.with_suffix(f".{os.getpid()}")
        shutil.copyfile(whole, beside)
        beside.replace(target)


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotBuiltError(f"{command[0]} could not be run: {error}") from error
    if done.returncode:
        raise NotBuiltError(f"{shlex.join(command)} failed:\n{done.stderr.strip()}")


if __name__ == "__main__":
    for each in sys.argv[1:]:
        build(recipe_of(Path(each)))
