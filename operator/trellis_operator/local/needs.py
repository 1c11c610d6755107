"""Looks whether the programs can run in this Python before any time is spent. Never imports what it looks for."""

from collections.abc import Callable
from importlib.util import find_spec

from trellis_operator.errors import LocalError

NEEDS = {
    "engine": ("torch", "safetensors", "grpc_health", "grpc_reflection"),
    "ivy": ("aiohttp", "tokenizers", "msgspec"),
}
"""Modules by the extra that brings them."""


def check_needs(is_here: Callable[[str], bool] = lambda module: find_spec(module) is not None) -> None:
    """Check that the modules of engine and gateway are installed.

    Raises:
        LocalError: some are not; names them and what brings them.
    """
    missing = {extra: [module for module in modules if not is_here(module)] for extra, modules in NEEDS.items()}
    extras = [extra for extra, modules in missing.items() if modules]
    if extras:
        names = ", ".join(module for modules in missing.values() for module in modules)
        raise LocalError(f"not installed: {names}; get it with: pip install 'trellis-serve[{','.join(extras)}]'")
