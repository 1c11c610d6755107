"""A drawn dashboard as a file that says what is on it. Knows no Prometheus, and not how one is drawn."""

import io
from pathlib import Path

from matplotlib.figure import Figure
from PIL import Image
from PIL.PngImagePlugin import PngInfo

_SAYS = "Description"
"""Under which a PNG has words about itself."""


def save(figure: Figure, titles: tuple[str, ...], path: Path) -> None:
    """With few colours, which is small."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    said = PngInfo()
    said.add_itxt(_SAYS, "\n".join(titles))
    Image.open(drawn).convert("RGB").quantize(128).save(path, optimize=True, pnginfo=said)


def saved_titles(path: Path) -> tuple[str, ...]:
    """Those of the dashboard as it was when it was drawn."""
    with Image.open(path) as picture:
        return tuple(str(picture.info.get(_SAYS, "")).split("\n"))
