"""`LinearFile`: one linear layer in a safetensors file of its own beside a model, as bge-m3 keeps two of them."""

import logging
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from tulip_rose.rose.errors import LoadError

log = logging.getLogger(__name__)


class LinearFile:
    """Tensors `weight` and `bias`."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @classmethod
    def find(cls, folder: Path, name: str) -> "LinearFile | None":
        """The file of that name; None where there is none.

        A pickle of that name is not read, since reading one can run anything; it is told once, in the log.
        """
        path, pickle = folder / f"{name}.safetensors", folder / f"{name}.pt"
        if path.is_file():
            return cls(path)
        if pickle.is_file():
            log.warning("%s is a pickle and is not read; what it is for is served once %s is there", pickle, path.name)
        return None

    def take(self, out: int, into: int) -> tuple[Tensor, Tensor]:
        """Weight [out, in] and bias [out], in float32.

        Raises:
            LoadError: the file is not readable, or a tensor is missing or of another shape.
        """
        try:
            tensors = load_file(self._path)
        except (OSError, SafetensorError) as error:
            raise LoadError(f"{self._path}: not readable as safetensors: {error}") from error
        for name, shape in {"weight": [out, into], "bias": [out]}.items():
            if name not in tensors:
                raise LoadError(f"{self._path}: tensor {name} is missing")
            if list(tensors[name].shape) != shape or not tensors[name].is_floating_point():
                raise LoadError(
                    f"{self._path}: tensor {name} is {tensors[name].dtype} of shape {list(tensors[name].shape)}, "
                    f"floating point of shape {shape} was expected"
                )
            if not tensors[name].isfinite().all():
                raise LoadError(f"{self._path}: tensor {name} holds a value that is not finite")
        extra = sorted(set(tensors) - {"weight", "bias"})
        if extra:
            raise LoadError(f"{self._path}: tensor {extra[0]} is not part of this layer")
        return tensors["weight"].to(torch.float32), tensors["bias"].to(torch.float32)

    @property
    def outs(self) -> int:
        """Values that the layer gives, by its own weight.

        Raises:
            LoadError: as `take`.
        """
        try:
            shape = load_file(self._path)["weight"].shape
        except (OSError, SafetensorError, KeyError) as error:
            raise LoadError(f"{self._path}: no readable tensor weight: {error}") from error
        return int(shape[0])
