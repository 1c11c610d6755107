"""Compiles the kernels of ROSE while the package is built, or installed for editing.

Without them torch does their work.
"""

import importlib.util
import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_BUILD = "services/tulip_rose/rose/native/build.py"


class KernelHook(BuildHookInterface):
    """Adds the compiled kernels to the wheel, which is then one of this platform."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; a machine that cannot gets a wheel that works without."""
        module = _load(Path(self.root) / _BUILD)
        try:
            module.build()
        except module.NotBuiltError as error:
            print(f"CPU kernels are not built, torch will do their work: {error}", file=sys.stderr)
            return
        build_data["pure_python"] = False
        # No part of it is bound to a version of Python.
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_')}"


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("rose_native_build", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
