"""Folders that sentence-transformers itself saves, of small models with large random weights."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from paritykit.folder import random_model
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Transformer
from transformers import BertConfig, BertModel, BertTokenizerFast

HIDDEN = 32
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz", *"ABCDEFG", ":"]
CONFIG = {
    "vocab_size": len(WORDS),
    "hidden_size": HIDDEN,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 70,
}

Saved = tuple[SentenceTransformer, Path]
Save = Callable[..., Saved]


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A BERT and its tokenizer, as transformers saves them."""
    folder = tmp_path_factory.mktemp("base")
    random_model(BertModel, BertConfig(**CONFIG)).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS))
    BertTokenizerFast(vocab=str(folder / "vocab.txt"), do_lower_case=False).save_pretrained(folder)
    return folder


@pytest.fixture
def save(base: Path, tmp_path: Path) -> Save:
    """Put modules behind the BERT and save all of it: what sentence-transformers has, and the folder."""

    def saved(modules: Sequence[torch.nn.Module], **settings: Any) -> Saved:
        torch.manual_seed(5)
        for module in modules:
            for parameter in module.parameters():
                torch.nn.init.normal_(parameter, 0.1, 0.5)
        model = SentenceTransformer(modules=[Transformer(str(base)), *modules], device="cpu", **settings).eval()
        folder = tmp_path / "saved"
        model.save_pretrained(str(folder), create_model_card=False)
        return model, folder

    return saved
