"""Compiles the kernels: called when the package is built or installed for editing. Uses the standard library alone."""

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TARGET = HERE / "kernels.so"
_FLAGS = (
    *("-O3", "-std=c++17", "-fPIC", "-fno-math-errno", "-fno-trapping-math", "-Wall", "-Wextra"),
    # Of the compiler's own headers.
    *("-Wno-uninitialized", "-Wno-maybe-uninitialized"),
)
_WIDE = ("-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512bf16", "-mfma")
_UNITS = {"cpu.cpp": (), "kernels.cpp": _WIDE, "rotary.cpp": _WIDE}
_LIMIT_S = 300


class NotBuiltError(Exception):
    """There will be no kernels here; says why."""


def sources() -> list[Path]:
    """Everything that the kernels are made of, in a fixed order."""
    return sorted([*HERE.glob("*.cpp"), *HERE.glob("*.h")])


def digest() -> str:
    """Of the sources, as hex; what is compiled bears it."""
    whole = hashlib.sha256()
    for path in sources():
        whole.update(f"{path.name}\n".encode() + path.read_bytes())
    return whole.hexdigest()[:16]


def build() -> Path:
    """Compile into `TARGET`, unless it is newer than its sources.

    Raises:
        NotBuiltError: another processor or system, no compiler, or an error of the compiler.
    """
    if platform.system() != "Linux" or platform.machine() not in ("x86_64", "AMD64"):
        raise NotBuiltError(f"they are for Linux on x86-64, this is {platform.system()} on {platform.machine()}")
    newest = max(path.stat().st_mtime for path in (Path(__file__), *sources()))
    if not TARGET.exists() or TARGET.stat().st_mtime < newest:
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
        objects = [str(Path(folder) / f"{unit}.o") for unit in _UNITS]
        for (unit, flags), made in zip(_UNITS.items(), objects, strict=True):
            _run([*compiler, *_FLAGS, *flags, f'-DROSE_SOURCES="{digest()}"', "-c", str(HERE / unit), "-o", made])
        whole = Path(folder) / TARGET.name
        _run([*compiler, "-shared", "-pthread", *objects, "-o", str(whole)])
        # Beside the target first: a process that has the old file mapped keeps it, and nobody sees half a file.
        beside = TARGET.with_suffix(f".{os.getpid()}")
        shutil.copyfile(whole, beside)
        beside.replace(TARGET)


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotBuiltError(f"{command[0]} could not be run: {error}") from error
    if done.returncode:
        raise NotBuiltError(f"{shlex.join(command)} failed:\n{done.stderr.strip()}")
