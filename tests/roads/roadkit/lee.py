"""50 short pieces of news, and how alike people find each two of them (Lee, Pincombe and Welsh): from one package."""

from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from trellis_operator.sources.patience import Deadline
from trellis_operator.sources.pip import download_wheel

_WHEEL = "gensim==4.4.0"
_FOLDER = "gensim/test/test_data"
_STALL_S = 60.0
_DEADLINE_S = 240.0


def lee(cache: Path) -> tuple[list[str], NDArray[np.float64]]:
    """The texts, and how alike they are: [50, 50], from 0 to 1.

    Args:
        cache: each of the two files is brought here once; the package they come in is not kept.
    """
    texts = _file(cache, "lee.cor").decode("latin-1").splitlines()
    rows = _file(cache, "similarities0-1.txt").decode().splitlines()
    alike = np.array([[float(value) for value in row.split()] for row in rows])
    assert len(texts) == 50, f"{len(texts)} texts"
    assert alike.shape == (50, 50)
    return texts, alike


def _file(cache: Path, name: str) -> bytes:
    path = cache / name
    if not path.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=cache) as scratch:
            wheel = download_wheel(_WHEEL, Path(scratch), _STALL_S, Deadline(_DEADLINE_S), print)
            with ZipFile(wheel) as archive:
                Path(archive.extract(f"{_FOLDER}/{name}", scratch)).replace(path)
    return path.read_bytes()
