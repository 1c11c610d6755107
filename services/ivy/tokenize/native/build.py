"""Compiles the tokenizer: called when the package is built, or installed for editing. Knows no library but Python's."""

import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE / "tokenizer.so"
_FLAGS = ("-O3", "-std=c++17", "-fPIC", "-shared", "-Wall", "-Wextra")
_LIMIT_S = 300


class NotBuiltError(Exception):
    """There will be no compiled tokenizer here; says why."""


def build() -> Path:
    """Compile into `TARGET`, unless it is newer than its sources.

    Raises:
        NotBuiltError: another system, no compiler, or an error of the compiler.
    """
    if os.name != "posix":
        raise NotBuiltError(f"it is for POSIX, this is {os.name}")
    sources = [Path(__file__), *HERE.glob("*.cpp"), *HERE.glob("*.h")]
    if not TARGET.exists() or TARGET.stat().st_mtime < max(path.stat().st_mtime for path in sources):
        _compile(_compiler())
    return TARGET


def _compiler() -> list[str]:
    named = shlex.split(os.environ.get("CXX", ""))
    found = named or [name for name in ("g++", "c++", "clang++") if shutil.which(name)][:1]
    if not found:
        raise NotBuiltError("no C++ compiler was found; install g++, or name one in CXX")
    return found


def _compile(compiler: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / TARGET.name
        _run([*compiler, *_FLAGS, str(HERE / "tokenizer.cpp"), "-o", str(made)])
        # Beside the target first: a process that has the old file mapped keeps it, and nobody sees half a file.
        beside = TARGET.with_suffix(f".{os.getpid()}")
        shutil.copyfile(made, beside)
        beside.replace(TARGET)


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotBuiltError(f"{command[0]} could not be run: {error}") from error
    if done.returncode:
        raise NotBuiltError(f"{shlex.join(command)} failed:\n{done.stderr.strip()}")
