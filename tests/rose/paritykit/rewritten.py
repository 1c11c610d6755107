"""Code with a few words of it exchanged, in its place; and tests of other files, asked whether they see it."""

import inspect
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module, util
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
from hypothesis import Phase, settings

Words = tuple[tuple[str, str], ...]
"""What is exchanged, each everywhere, for what."""


@dataclass(frozen=True)
class Seen:
    """A test that has to fail once something is broken.

    Attributes:
        test: file and function, as FILE.FUNCTION.
        given: its parameters; the others are fixtures.
    """

    test: str
    given: dict[str, Any] = field(default_factory=dict)


def exchanged(source: str, words: Words) -> str:
    """The source with the words exchanged; all of them have to be there."""
    for old, new in words:
        assert old in source, f"{old!r} is in no line any more"
        source = source.replace(old, new)
    return source


def rewrite_method(patch: pytest.MonkeyPatch, where: str, words: Words) -> None:
    """Exchange words in a function or method, `MODULE:NAME` or `MODULE:CLASS.NAME`, below `tulip_rose.rose`."""
    module_name, _, path = where.partition(":")
    module = import_module(f"tulip_rose.rose.{module_name}")
    *owners, name = path.split(".")
    owner: Any = module
    for each in owners:
        owner = getattr(owner, each)
    function = _undecorated(inspect.getattr_static(owner, name))
    source = exchanged(textwrap.dedent(inspect.getsource(function)), words)
    made: dict[str, Any] = {}
    exec(compile(source, f"<{where}, broken>", "exec", dont_inherit=True), function.__globals__, made)
    # Whoever imported it before has the same function.
    patch.setattr(function, "__code__", _undecorated(made[name]).__code__)


def _undecorated(found: Any) -> Any:
    """The function of a property, or of a method of a class."""
    return getattr(found, "fget", None) or getattr(found, "__func__", found)


def rewrite_kernel(patch: pytest.MonkeyPatch, module: ModuleType, kernel: str, words: Words, folder: Path) -> None:
    """Exchange words in a kernel; the file is written anew, since kernels read their own source."""
    assert module.__file__ is not None
    path = folder / f"broken_{module.__name__.rpartition('.')[2]}.py"
    path.write_text(exchanged(Path(module.__file__).read_text(), words))
    # Triton asks when it meets a kernel whether it is to be interpreted.
    patch.setenv("TRITON_INTERPRET", "1")
    patch.setattr(module, kernel, getattr(loaded(path), kernel))


def loaded(path: Path) -> ModuleType:
    """The module of a file, under a name of its own."""
    name = f"loaded_{path.stem}_{abs(hash(str(path)))}"
    if name not in sys.modules:
        spec = util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


def runs(folder: Path, seen: Seen, request: pytest.FixtureRequest) -> Callable[[], None]:
    """The test, ready to run."""
    file, _, name = seen.test.partition(".")
    test: FunctionType = getattr(loaded(folder / f"{file}.py"), name)
    if hasattr(test, "hypothesis"):
        return partial(_first_example(test), **seen.given)

    def run() -> None:
        names = inspect.signature(test).parameters
        test(**{each: seen.given[each] if each in seen.given else request.getfixturevalue(each) for each in names})

    return run


@cache
def _first_example(test: FunctionType) -> Callable[..., None]:
    """A test of hypothesis that ends with the first example that fails: nobody reads the smallest."""
    found: Callable[..., None] = settings(phases=(Phase.generate,), database=None, deadline=None)(test)
    return found


def is_seen(run: Callable[[], None], *, also: tuple[type[Exception], ...] = ()) -> bool:
    """Whether an assertion of the test fails, or it raises one of some other errors; all else it raises goes on."""
    try:
        run()
    except (AssertionError, pytest.fail.Exception, *also) as error:
        print(f"{type(error).__name__}: {str(error)[:200]}")
        return True
    return False
