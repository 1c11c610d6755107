"""Releases of the libraries that attend on CUDA: the one place that names versions. Imports none of them."""

import re
from dataclasses import dataclass
from importlib import metadata


@dataclass(frozen=True, slots=True)
class Release:
    """A library and what is known of its releases."""

    distribution: str
    tested: str
    """Against the signatures of this one the calls are tested."""
    least: tuple[int, int, int]
    """Older ones are not used."""

    def installed(self) -> str | None:
        """The version among this interpreter's packages; the library is not imported, which would need CUDA."""
        try:
            return metadata.version(self.distribution)
        except metadata.PackageNotFoundError:
            return None

    def obstacle(self, version: str | None) -> str | None:
        """Why it cannot be used in that version; None: it can."""
        if version is None:
            return f"{self.distribution} is not installed"
        if _numbers(version) < self.least:
            return f"{self.distribution} {version} is older than {'.'.join(map(str, self.least))}"
        return None

    def doubt(self, version: str | None) -> str | None:
        """What to say of a version that can be used; None: it is the one that is tested."""
        if version is None or version.partition("+")[0] == self.tested:
            return None
        return f"{self.distribution} {version} is not the tested release {self.tested}"


FLASH_ATTENTION_4 = Release("flash-attn-4", "4.0.0b36", (4, 0, 0))
FLASHINFER = Release("flashinfer-python", "0.7.4", (0, 7, 1))
"""Only from 0.7.1 on may keys be left unsplit in a graph, without which a text would depend on its neighbours."""


def _numbers(version: str) -> tuple[int, ...]:
    """The first three; what follows tells apart releases that are one to us."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])
