"""Whether Triton's kernels can be compiled on this machine. Imports no triton."""

import os
import shutil
from importlib.util import find_spec


def wanting() -> str | None:
    """What is missing; None where nothing is. What the GPU can do is not asked."""
    if find_spec("triton") is None:
        return "the package triton is not installed"
    if not (os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")):
        return "triton compiles what calls its kernels, and there is no C compiler: neither gcc, nor clang, nor $CC"
    return None
