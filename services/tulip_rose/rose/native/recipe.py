"""How the kernels are compiled (see `native_build`, at the root). Uses the standard library alone."""

import hashlib
import platform
from pathlib import Path

_HERE = Path(__file__).parent
TARGET = _HERE / "kernels.so"
_FLAGS = (
    *("-O3", "-std=c++17", "-fPIC", "-fno-math-errno", "-fno-trapping-math", "-Wall", "-Wextra"),
    # Of the compiler's own headers.
    *("-Wno-uninitialized", "-Wno-maybe-uninitialized"),
)
_WIDE = ("-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512bf16", "-mfma")
_UNITS = {"cpu.cpp": (), "lay.cpp": (), "kernels.cpp": _WIDE, "rotary.cpp": _WIDE}


def sources() -> list[Path]:
    """Everything that the kernels are made of, in a fixed order."""
    return sorted([*_HERE.glob("*.cpp"), *_HERE.glob("*.h")])


def digest() -> str:
    """Of the sources, as hex; what is compiled bears it."""
    whole = hashlib.sha256()
    for path in sources():
        whole.update(f"{path.name}\n".encode() + path.read_bytes())
    return whole.hexdigest()[:16]


def units() -> dict[str, tuple[str, ...]]:
    """What is compiled, each with its flags."""
    named = f'-DROSE_SOURCES="{digest()}"'
    return {unit: (*_FLAGS, *flags, named) for unit, flags in _UNITS.items()}


def refusal() -> str | None:
    """Why they cannot be on this machine, if so."""
    if platform.system() == "Linux" and platform.machine() in ("x86_64", "AMD64"):
        return None
    return f"they are for Linux on x86-64, this is {platform.system()} on {platform.machine()}"
