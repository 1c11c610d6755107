"""What a benchmark leaves behind: a table for people and JSON for machines, with everything needed to judge them."""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from statistics import median, quantiles
from typing import Any

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Spread:
    """The middle of some measurements, and the range that half of them lie in."""

    middle: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Of at least one value."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0])
        low, _, high = quantiles(values, n=4, method="inclusive")
        return cls(median(values), low, high)

    def shown(self, digits: int = 1) -> str:
        """`middle (low-high)`."""
        return f"{self.middle:,.{digits}f} ({self.low:,.{digits}f}-{self.high:,.{digits}f})"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are aligned right."""
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def surroundings(packages: Sequence[str]) -> dict[str, str]:
    """Hardware, system, commit and versions."""
    versions = {name: _version(name) for name in packages}
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "cpu": f"{_cpu()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "load before the run": f"{os.getloadavg()[0]:.2f}",
        **versions,
    }


def write(
    name: str,
    title: str,
    around: dict[str, str],
    sections: Sequence[tuple[str, str]],
    data: Any,
    folder: Path = RESULTS,
) -> Path:
    """Write `<date>-<name>.md` and `.json`.

    Args:
        name: of the files.
        title: heading of the page.
        around: see `surroundings`.
        sections: heading and Markdown of each part.
        data: everything measured, for JSON.
        folder: where; it is made where it is not there.

    Returns:
        The page.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{around['date'][:10]}-{name}.md"
    facts = "\n".join(f"- {key}: {value}" for key, value in around.items())
    parts = [f"# {title}", facts, *(f"## {heading}\n\n{text}" for heading, text in sections)]
    path.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    whole = {"surroundings": around, "measured": data}
    path.with_suffix(".json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    return path


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()

    changed = " with local changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    return git("rev-parse", "--short=12", "HEAD") + changed


def _cpu() -> str:
    """Its name, and what tells generations apart that virtual machines call by one name."""
    info = Path("/proc/cpuinfo")
    first = info.read_text(encoding="utf-8").partition("\n\n")[0] if info.exists() else ""
    told = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in first.splitlines())}
    if "model name" not in told:
        return platform.processor()
    wide = "AVX-512" if "avx512bw" in told.get("flags", "").split() else "no AVX-512"
    return f"{told['model name']} (family {told.get('cpu family')}, model {told.get('model')}, {wide})"
