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
_KERNELS = {"cpu.cpp": ("-DROSE_KERNELS",), "kernels.cpp": _WIDE, "rotary.cpp": _WIDE}
_ANYWHERE: dict[str, tuple[str, ...]] = {"cpu.cpp": (), "lay.cpp": ()}


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
    """What is compiled, each with its flags: on another processor than x86-64 what lays batches out, and no kernels."""
    chosen = _ANYWHERE | (_KERNELS if platform.machine() in ("x86_64", "AMD64") else {})
    named = f'-DROSE_SOURCES="{digest()}"'
    return {unit: (*_FLAGS, *flags, named) for unit, flags in chosen.items()}


def refusal() -> str | None:
    """Why they cannot be on this machine, if so."""
    return None if platform.system() == "Linux" else f"they are for Linux, this is {platform.system()}"
