"""A model folder without a tokenizer, as sentence-transformers would save it, of a model made here."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedConfig, PreTrainedModel

RANGE = 0.2
"""Spread of random weights: ten times what is usual, so that a wrong mask, norm or position shows."""


def random_model(
    kind: Callable[[Any], PreTrainedModel], config: PreTrainedConfig, seed: int = 3, spread: float = RANGE
) -> PreTrainedModel:
    """A model with every parameter random, those included that begin as zeros or ones (biases, norms, pads).

    Wide models get a smaller spread: their sums have more terms, and attention that sees one key alone hides others.
    """
    torch.manual_seed(seed)
    model = kind(config)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0, spread)
    return model.eval()


def save(model: PreTrainedModel, folder: Path, pooling: str = "mean", *, normalize: bool = False) -> Path:
    """Write `config.json`, safetensors and the modules: pooling by its sentence-transformers word."""
    model.save_pretrained(folder)
    kinds = ["Transformer", "Pooling", *(["Normalize"] if normalize else [])]
    modules = [
        {"idx": index, "name": str(index), "path": f"{index}_{kind}" if index else "", "type": f"{_PACKAGE}.{kind}"}
        for index, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": pooling}))
    return folder


_PACKAGE = "sentence_transformers.models"
