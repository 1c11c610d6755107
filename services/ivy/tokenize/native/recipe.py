"""How the tokenizer is compiled (see `native_build`, at the root). Knows no library but Python's."""

import hashlib
import os
from pathlib import Path

_HERE = Path(__file__).parent
TARGET = _HERE / "tokenizer.so"
_FLAGS = ("-O3", "-std=c++17", "-fPIC", "-Wall", "-Wextra")


def sources() -> list[Path]:
    """Everything that it is made of, in a fixed order."""
    return sorted([*_HERE.glob("*.cpp"), *_HERE.glob("*.h")])


def digest() -> str:
    """Of the sources, as hex; what is compiled bears it."""
    whole = hashlib.sha256()
    for path in sources():
        whole.update(f"{path.name}\n".encode() + path.read_bytes())
    return whole.hexdigest()[:16]


def units() -> dict[str, tuple[str, ...]]:
    """What is compiled, each with its flags."""
    return {"tokenizer.cpp": (*_FLAGS, f'-DIVY_SOURCES="{digest()}"')}


def refusal() -> str | None:
    """Why it cannot be on this machine, if so."""
    return None if os.name == "posix" else f"it is for POSIX, this is {os.name}"
