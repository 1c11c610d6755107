"""What the command line said, as one frozen value. Never reads anything else."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class LocalOptions:
    """How one manifest is run here.

    Attributes:
        manifest: the file.
        model: a folder that is served in place of the manifest's source.
        port: of the HTTP API on 127.0.0.1; 0 takes a free one.
        threads: of all engines together; 0 takes all cores.
        once: a text to embed and print, before everything stops.
        api_keys_file: the accepted API keys, one a line.
        cache: folder of downloaded models.
    """

    manifest: Path
    model: Path | None
    port: int
    threads: int
    once: str | None
    api_keys_file: Path | None
    cache: Path
