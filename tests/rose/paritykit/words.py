"""A small tokenizer of whole words, as a model folder has it, and texts of these words."""

import string
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[Q] ", "[D] ")
_WORDS = 150


def words(texts: int, seed: int = 5, longest: int = 40) -> list[str]:
    """Texts of words that the tokenizer knows, with a comma or a full stop here and there."""
    rng = np.random.default_rng(seed)
    marks = [*(f"w{index}" for index in range(_WORDS)), ",", "."]
    return [" ".join(rng.choice(marks, rng.integers(1, longest))) for _ in range(texts)]


def save_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Write the tokenizer's files; its vocabulary has a place for each punctuation mark."""
    known = [*SPECIAL, *string.punctuation, *(f"w{index}" for index in range(_WORDS))]
    vocabulary = {word: index for index, word in enumerate(known)}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="[SEP]", **dict(zip(names, SPECIAL, strict=False))
    )
    fast.add_tokens(list(SPECIAL[5:]))
    fast.save_pretrained(folder)
    return fast


VOCABULARY = len(SPECIAL) + len(string.punctuation) + _WORDS
