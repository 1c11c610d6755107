"""Pairs of texts, and a tokenizer of made-up words that joins them as BERT's do."""

from pathlib import Path

import numpy as np
from paritykit.texts import Text
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerFast

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "yes", "no"]
Pair = tuple[str, str]


def save_tokenizer(folder: Path, vocabulary: int, longest: int, *, typed: bool = False) -> None:
    """Write the files of a tokenizer whose words are `w0`, `w1`, … and that cuts at `longest` tokens.

    Args:
        folder: where the files go.
        vocabulary: number of words, special ones included.
        longest: in tokens, of a pair.
        typed: whether the model takes types of tokens.
    """
    words = [*SPECIAL, *(f"w{index}" for index in range(vocabulary - len(SPECIAL)))]
    tokenizer = Tokenizer(WordLevel({word: index for index, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(word, words.index(word)) for word in ("[CLS]", "[SEP]")],
    )
    special = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), SPECIAL, strict=False))
    inputs = ["input_ids", *(["token_type_ids"] if typed else []), "attention_mask"]
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=longest, model_input_names=inputs, **special
    ).save_pretrained(folder)


def pairs(lengths: list[tuple[int, int]], vocabulary: int, seed: int = 5) -> list[Pair]:
    """Random texts of so many words; either side may be empty."""
    rng = np.random.default_rng(seed)
    words = [rng.integers(0, vocabulary - len(SPECIAL), sum(pair)) for pair in lengths]
    return [(_text(found[:one]), _text(found[one:])) for found, (one, _) in zip(words, lengths, strict=True)]


def tokens_of(pair: Pair, folder: Path) -> Text:
    """A pair as that tokenizer joins it, cut from its longer side; with types where the model takes them."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    # As a list of one: alone, a pair whose second side is empty would be a single text.
    found = tokenizer([pair], truncation="longest_first")
    types = found.get("token_type_ids")
    return Text(np.array(found["input_ids"][0], np.int32), None if types is None else np.array(types[0], np.uint8))


def _text(words: np.ndarray) -> str:
    return " ".join(f"w{word}" for word in words)
