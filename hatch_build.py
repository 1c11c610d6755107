"""Compiles what is written in C++ while the package is built, or installed for editing.

That are the kernels of ROSE, whose work torch and numpy do without them, and the tokenizer of Ivy, whose work its
library does.
"""

import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_BUILDS = {
    "services/tulip_rose/rose/native": "CPU kernels are not built, torch and numpy will do their work",
    "services/ivy/tokenize/native": "the tokenizer is not built, its library will do the work, slower",
}


class KernelHook(BuildHookInterface):
    """Adds what was compiled to the wheel, which is then one of this platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; a machine that cannot gets a wheel that works without."""
        root = Path(self.root)
        compiler = _load(root / "native_build.py")
        built = [_build(compiler, root / folder, without) for folder, without in _BUILDS.items()]
        if not any(built):
            return
        build_data["pure_python"] = False
        # No part of it is bound to a version of Python.
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_')}"


def _build(compiler: ModuleType, folder: Path, without: str) -> bool:
    try:
        compiler.build(compiler.recipe_of(folder))
    except compiler.NotBuiltError as error:
        print(f"{without}: {error}", file=sys.stderr)
        return False
    return True


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("native_build", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
