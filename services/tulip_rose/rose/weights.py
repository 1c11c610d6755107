"""Checked reading of safetensors: each tensor is taken once, by name, shape and kind; what is left over is an error.

Nothing else is ever read as weights: no pickle.
"""

import json
import re
from collections.abc import Iterable
from contextlib import ExitStack
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from tulip_rose.rose.errors import LoadError

_FLOATS = {"F32", "F16", "BF16"}
_SINGLE, _INDEX = "model.safetensors", "model.safetensors.index.json"
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack")


class Weights:
    """The tensors of a model folder, as a context manager: leaving it closes the files.

    Args:
        folder: holds `model.safetensors`, or shards with `model.safetensors.index.json`.
        dtype: what `take` returns.
        prefix: put before each name when the file does so (a base model saved within another class).
    """

    def __init__(self, folder: Path, dtype: torch.dtype, prefix: str = "") -> None:
        paths = _paths(folder)
        self._where = paths[0] if len(paths) == 1 else folder / _INDEX
        self.dtype = dtype
        self._stack = ExitStack()
        self._files: dict[str, tuple[Any, str]] = {}
        for path in paths:
            self._open(path)
        if not self._files:
            raise LoadError(f"{folder}: the safetensors files hold no tensor")
        self._prefix = prefix if any(name.startswith(prefix) for name in self._files) else ""

    def _open(self, path: Path) -> None:
        try:
            file = self._stack.enter_context(safe_open(path, framework="pt"))
        except (OSError, SafetensorError) as error:
            raise LoadError(f"{path}: not readable as safetensors: {error}") from error
        for name in file.keys():  # noqa: SIM118 - the file is not a mapping
            if name in self._files:
                raise LoadError(f"{path}: tensor {name} stands in another shard too")
            self._files[name] = (file, str(path))

    def spelling(self, *names: str) -> str:
        """Which of several names of one tensor is there, as `take` knows them; the first where none is."""
        return next((name for name in names if self._prefix + name in self._files), names[0])

    def take(self, name: str, shape: tuple[int, ...], dtype: torch.dtype | None = None) -> Tensor:
        """The tensor `name` in this dtype, else in that of the model; a tensor can be taken once.

        Raises:
            LoadError: missing, of another shape, not of floating point, or with a value that is not finite.
        """
        return self.take_whole(self._prefix + name, shape, dtype or self.dtype)

    def take_whole(
        self, name: str, shape: tuple[int, ...], dtype: torch.dtype = torch.float32, *, keep: bool = False
    ) -> Tensor:
        """As `take`, by the whole name that stands in the file, for what lies around the base model.

        Args:
            name: no prefix is put before it.
            shape: that it has.
            dtype: what is returned; heads are computed in float32 whatever the model is.
            keep: leave it for another taker: a table that two layers share.
        """
        self._slice(name, shape)
        file, path = self._files[name] if keep else self._files.pop(name)
        tensor: Tensor = file.get_tensor(name).to(dtype)
        if not _is_finite(tensor):
            raise LoadError(f"{path}: tensor {name} holds a value that is not finite in {str(dtype).split('.')[-1]}")
        return tensor

    def rows(self, name: str, rows: list[int], shape: tuple[int, int]) -> Tensor:
        """Some rows of a table in float32, by its whole name; the tensor can still be taken.

        Raises:
            LoadError: as `take`, or there is no such row.
        """
        piece = self._slice(name, shape)
        wrong = [row for row in rows if not 0 <= row < shape[0]]
        if wrong:
            raise LoadError(f"{self._files[name][1]}: tensor {name} has rows 0 to {shape[0] - 1}, not {wrong[0]}")
        return torch.stack([piece[row] for row in rows]).float()

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor by its whole name, where the file is the only one that says it.

        Raises:
            LoadError: it is missing.
        """
        if name not in self._files:
            raise LoadError(f"{self._where}: tensor {name} is missing")
        return tuple(self._files[name][0].get_slice(name).get_shape())

    def count_values(self) -> int:
        """How many values all tensors have that are left, without reading one."""
        slices = (file.get_slice(name) for name, (file, _) in self._files.items())
        return sum(prod(piece.get_shape()) for piece in slices)

    def has(self, name: str) -> bool:
        """Whether a tensor of that whole name is left."""
        return name in self._files

    def _slice(self, name: str, shape: tuple[int, ...]) -> Any:
        """The tensor, not yet read, once it is known to be as it should."""
        if name not in self._files:
            raise LoadError(f"{self._where}: tensor {name} is missing")
        file, path = self._files[name]
        piece = file.get_slice(name)
        if tuple(piece.get_shape()) != shape:
            raise LoadError(f"{path}: tensor {name} has shape {piece.get_shape()}, config.json asks for {list(shape)}")
        if piece.get_dtype() not in _FLOATS:
            raise LoadError(
                f"{path}: tensor {name} is {piece.get_dtype()}, expected one of {', '.join(sorted(_FLOATS))}"
            )
        return piece

    def forget(self, pattern: str) -> None:
        """Leave out the tensors whose whole names match: parts of a checkpoint that nothing needs."""
        for name in [name for name in self._files if re.fullmatch(pattern, name)]:
            del self._files[name]

    def finish(self, unused: Iterable[str] = ()) -> None:
        """Check that nothing is left.

        Args:
            unused: patterns of names that the architecture has and an embedding does not need.

        Raises:
            LoadError: a tensor is left that no pattern matches.
        """
        patterns = [re.compile(re.escape(self._prefix) + pattern) for pattern in unused]
        extra = [name for name in self._files if not any(pattern.fullmatch(name) for pattern in patterns)]
        if extra:
            more = f" and {len(extra) - 1} more" if len(extra) > 1 else ""
            raise LoadError(f"{self._files[extra[0]][1]}: tensor {extra[0]}{more} is not part of this architecture")

    def __enter__(self) -> "Weights":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._files.clear()
        self._stack.close()


def _is_finite(tensor: Tensor) -> bool:
    """The sum tells it in one pass, but for huge values, which are looked at again."""
    return bool(tensor.sum(dtype=torch.float32).isfinite()) or bool(tensor.isfinite().all())


def _paths(folder: Path) -> list[Path]:
    single, index = folder / _SINGLE, folder / _INDEX
    if single.is_file():
        return [single]
    if not index.is_file():
        others = sorted(path.name for kind in _PICKLES for path in folder.glob(f"*{kind}"))
        found = f" ({', '.join(others[:3])})" if others else ""
        raise LoadError(f"{folder}: no model.safetensors; other formats of weights{found} are not read")
    try:
        names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        if any(Path(name).name != name for name in names):
            raise ValueError("a shard lies outside of the folder")
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise LoadError(f"{index}: not an index of shards: {error}") from error
    return [folder / name for name in names]
