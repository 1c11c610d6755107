"""Models of the shapes that are aimed at, with random weights: their folders, and what transformers makes of them.

Nothing is downloaded. Weights are wider spread than is usual before a training, so that attention looks at some tokens
more than at others, and a wrong mask or position shows in a vector.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Ids = NDArray[np.int32]
Vectors = NDArray[np.float32]

SEED = 5
_SPREAD = 0.05
_FIRST_ID = 5
_SMALL: dict[str, Any] = {"num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 96, "vocab_size": 300}


@dataclass(frozen=True)
class Shape:
    """A model.

    Attributes:
        name: in tables.
        make: an untrained model of transformers, of a config with these values.
        config: its sizes.
        small: those that a CPU has instead.
        pooling: by its word in sentence-transformers.
    """

    name: str
    make: Callable[[dict[str, Any]], Any]
    config: dict[str, Any]
    small: dict[str, Any]
    pooling: str

    def of(self, *, small: bool) -> dict[str, Any]:
        """The values of its config."""
        return {**self.config, **(self.small if small else {})}


def _qwen3(values: dict[str, Any]) -> Any:
    from transformers import Qwen3Config, Qwen3Model

    return Qwen3Model(Qwen3Config(**values))


def _xlm_roberta(values: dict[str, Any]) -> Any:
    from transformers import XLMRobertaConfig, XLMRobertaModel

    return XLMRobertaModel(XLMRobertaConfig(**values))


SHAPES = {
    "qwen3-0.6b": Shape(
        "Qwen3-0.6B, seen from both sides",
        _qwen3,
        {
            "vocab_size": 151_936,
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "num_hidden_layers": 28,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "max_position_embeddings": 32_768,
            "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
            "is_causal": False,
            "pad_token_id": 0,
        },
        {**_SMALL, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 512},
        "mean",
    ),
    "bge-m3": Shape(
        "bge-m3",
        _xlm_roberta,
        {
            "vocab_size": 250_002,
            "hidden_size": 1024,
            "intermediate_size": 4096,
            "num_hidden_layers": 24,
            "num_attention_heads": 16,
            "max_position_embeddings": 8194,
            "type_vocab_size": 1,
            "pad_token_id": 1,
            "layer_norm_eps": 1e-5,
        },
        {**_SMALL, "num_attention_heads": 4, "max_position_embeddings": 514},
        "cls",
    ),
}


def write_model(shape: Shape, folder: Path, device: str, *, small: bool) -> None:
    """A folder as sentence-transformers would save it, without a tokenizer; float32."""
    torch.manual_seed(SEED)
    with torch.device(device):
        model = shape.make(shape.of(small=small)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            middle = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
            parameter.normal_(middle, 0.2 if small else _SPREAD)
    model.save_pretrained(folder)
    kinds = ("Transformer", "Pooling", "Normalize")
    paths = ("", "1_Pooling", "2_Normalize")
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (kind, path) in enumerate(zip(kinds, paths, strict=True))
    ]
    (folder / "modules.json").write_text(json.dumps(modules), encoding="utf-8")
    (folder / paths[1]).mkdir()
    (folder / paths[1] / "config.json").write_text(json.dumps({"pooling_mode": shape.pooling}), encoding="utf-8")


def made_up(lengths: Sequence[int], vocabulary: int, seed: int) -> list[Ids]:
    """Texts of random ids, none of them special."""
    random = np.random.default_rng(seed)
    return [random.integers(_FIRST_ID, vocabulary, length).astype(np.int32) for length in lengths]


class Reference:
    """transformers with SDPA, each text alone and unpadded: what vectors should be."""

    def __init__(self, shape: Shape, folder: Path, device: str, dtype: str) -> None:
        from transformers import AutoModel

        self._device, self._pooling = device, shape.pooling
        kind: torch.dtype = getattr(torch, dtype)
        self._model = AutoModel.from_pretrained(folder, dtype=kind, attn_implementation="sdpa").to(device).eval()

    def vectors(self, texts: Sequence[Ids]) -> Vectors:
        """Of unit norm, [texts, dimensions]."""
        with torch.inference_mode():
            rows = [self._pooled(text) for text in texts]
            return torch.nn.functional.normalize(torch.stack(rows), dim=1).cpu().numpy()

    def _pooled(self, text: Ids) -> Tensor:
        ids = torch.from_numpy(text.astype(np.int64))[None].to(self._device)
        states: Tensor = self._model(input_ids=ids).last_hidden_state[0].float()
        return states[0] if self._pooling == "cls" else states.mean(0)
