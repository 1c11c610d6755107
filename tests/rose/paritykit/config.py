"""A `config.json` in another spelling."""

import json
from pathlib import Path
from typing import Any


def respell(folder: Path, gone: tuple[str, ...] = (), **changes: Any) -> None:
    """Take keys away, then set others."""
    path = folder / "config.json"
    kept = {key: value for key, value in json.loads(path.read_text()).items() if key not in gone}
    path.write_text(json.dumps({**kept, **changes}))
