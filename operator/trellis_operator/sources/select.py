"""Which files a model needs, and how large they may be. Pure.

Weights are safetensors and nothing else: a pickle can run code when it is read, and is never fetched. Neither is code.
"""

import re
from collections.abc import Callable
from enum import StrEnum

from trellis_operator.sources.failure import FetchError, Reason
from trellis_operator.sources.listing import Listing, RemoteFile

MAX_FILES = 2_000
MAX_TOTAL_BYTES = 2 * 2**40
MAX_SMALL_BYTES = 512 * 2**20
"""Of a file that is not weights; the largest tokenizers have 40 MB."""

_NAME = r"[A-Za-z0-9_][A-Za-z0-9._+-]*"
_MODULE = r"[0-9]+_[A-Za-z][A-Za-z0-9]*"
"""What sentence-transformers calls the folders of a model's modules, e.g. `1_Pooling`."""
_BESIDE = r"chat_template\.jinja|artifact\.metadata|(sparse|colbert)_linear\.safetensors"
"""A reranker's template, ColBERT's settings, and the two layers of bge-m3: gateways look at them too."""
_SMALL = re.compile(rf"({_MODULE}/)?{_NAME}\.(json|txt)|{_BESIDE}")
_WEIGHTS = re.compile(rf"({_MODULE}/)?model(-[0-9]+-of-[0-9]+)?\.safetensors")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


class Part(StrEnum):
    """How much of a model is wanted."""

    ALL = "all"
    TOKENIZER = "tokenizer"
    """All but the weights: what a gateway needs."""

    def covers(self, other: "Part") -> bool:
        """Whether who has this part has the other too."""
        return self in (Part.ALL, other)


def wanted(part: Part) -> Callable[[str], bool]:
    """Tells by its path whether a file belongs to `part`."""

    def is_wanted(path: str) -> bool:
        return bool(_SMALL.fullmatch(path)) or (part is Part.ALL and bool(_WEIGHTS.fullmatch(path)))

    return is_wanted


def check(listing: Listing, part: Part, where: str) -> None:
    """Check that the files make a model, and are within the limits.

    Raises:
        FetchError: NOT_FOUND without a config.json, NO_WEIGHTS, or TOO_LARGE.
    """
    paths = {file.path for file in listing.files}
    if "config.json" not in paths:
        raise FetchError(Reason.NOT_FOUND, f"{where} has no model: no config.json there")
    if part is Part.ALL and not any("/" not in path and _WEIGHTS.fullmatch(path) for path in paths):
        raise FetchError(Reason.NO_WEIGHTS, f"{where} has no model.safetensors{_instead(listing)}")
    if len(listing.files) > MAX_FILES:
        raise FetchError(Reason.TOO_LARGE, f"{where} has {len(listing.files)} files: at most {MAX_FILES} are fetched")
    if listing.total_bytes > MAX_TOTAL_BYTES:
        raise FetchError(Reason.TOO_LARGE, f"{where} has {listing.total_bytes} bytes: at most {MAX_TOTAL_BYTES}")
    for file in listing.files:
        _check_size(file, where)


def _check_size(file: RemoteFile, where: str) -> None:
    if file.size < 0 or (file.size > MAX_SMALL_BYTES and not _WEIGHTS.fullmatch(file.path)):
        limit = f"at most {MAX_SMALL_BYTES} bytes are fetched of a file that is not weights"
        raise FetchError(Reason.TOO_LARGE, f"{where}: {file.path} has {file.size} bytes: {limit}")


def _instead(listing: Listing) -> str:
    pickles = sorted(path for path in listing.left_out if path.endswith(_PICKLES))
    if not pickles:
        return ""
    return f", only {pickles[0]}: a pickle can run code and is not read; convert it to safetensors"
