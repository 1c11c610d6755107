"""Whether a tokenizer belongs to its model. A wrong one would serve vectors of other words, and nobody would see it.

Each check lets every published model through; what they let through besides is a tokenizer of the same kind and size.
Knows no torch and no tokenizer.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.pooling_words import Pooling, Poolings
from tulip_rose.rose.special_ids import Special, read_special
from tulip_rose.rose.tokenizer_file import (
    BPE,
    BYTE_LEVEL_BPE,
    FALLBACK_BPE,
    FILE,
    UNIGRAM,
    WORD_PIECE,
    TokenizerFile,
)

_ANOTHER = "the tokenizer is that of another model"
_LEAST_PART = 0.8
"""Of the table that has to have pieces: tables are padded to a multiple, and some rows are kept free, never a fifth."""
_MULTIPLE = 128

KINDS: dict[str, tuple[str, ...]] = {
    # Multilingual MiniLM and E5 are BERT with XLM-R's pieces, and BERT's id of padding in their config.
    "Bert": (WORD_PIECE, UNIGRAM),
    "HF_ColBERT": (WORD_PIECE, UNIGRAM),
    "Camembert": (UNIGRAM,),
    "DistilBert": (WORD_PIECE,),
    "Gemma3": (FALLBACK_BPE,),
    "MPNet": (WORD_PIECE,),
    # mmBERT has Gemma's pieces, Ruri has pieces of Unigram.
    "ModernBert": (BYTE_LEVEL_BPE, FALLBACK_BPE, BPE, UNIGRAM),
    "NomicBert": (WORD_PIECE,),
    "PPLXQwen3": (BYTE_LEVEL_BPE,),
    "Qwen3": (BYTE_LEVEL_BPE,),
    "Roberta": (BYTE_LEVEL_BPE,),
    "XLMRoberta": (UNIGRAM,),
}
"""What a family's pieces are, by how its architectures begin. Others are taken where the special tokens agree: HerBERT
is BERT with BPE, KLUE's RoBERTa and CamemBERTv2 are RoBERTa with WordPiece."""


def check_tokenizer(folder: Path, architecture: str, config: Mapping[str, Any], rows: int) -> None:
    """Check the folder's `tokenizer.json`; a folder may have none.

    Args:
        folder: of the model.
        architecture: that `config.json` names.
        config: `config.json`.
        rows: of the table of words.

    Raises:
        LoadError: the tokenizer is that of another model, or a file is not readable.
    """
    tokenizer = TokenizerFile.of(folder)
    if tokenizer is None:
        return
    special = read_special(folder, config, rows, tokenizer)
    told = _too_large(tokenizer, rows) or _too_small(tokenizer, rows) or _strange(tokenizer, architecture, special)
    told = told or _other_ids(special)
    if told:
        raise LoadError(f"{folder / FILE}: {told}: {_ANOTHER}")


def told_of_no_end(folder: Path, poolings: Poolings) -> str | None:
    """What to say of a vector that is the state of a text's own last token: a model may have learnt another behind it.

    The reference appends what `tokenizer.json` says and nothing else, whatever `tokenizer_config.json` says of ends, so
    that is no error: there are models that were trained so.

    Args:
        folder: of a model that embeds; it may have no tokenizer.
        poolings: of its vectors.

    Returns:
        A line, or None where nothing is to be said.
    """
    tokenizer = TokenizerFile.of(folder)
    if tokenizer is None or tokenizer.ends or Pooling.LAST_TOKEN not in poolings:
        return None
    return (
        f"{folder / FILE}: post_processor puts no token behind a text, so that the vector is that of its last word; "
        "Qwen3-Embedding was trained with <|endoftext|> there, which its own tokenizer.json adds"
    )


def _too_large(tokenizer: TokenizerFile, rows: int) -> str | None:
    """Added tokens are left out: published models have some that no text becomes, beyond their table."""
    if tokenizer.largest_id < rows:
        return None
    return f"model.vocab has ids up to {tokenizer.largest_id}, config.json says vocab_size {rows}"


def _too_small(tokenizer: TokenizerFile, rows: int) -> str | None:
    padded = -(-tokenizer.pieces // _MULTIPLE) * _MULTIPLE
    if padded >= _LEAST_PART * rows:
        return None
    return f"model.vocab has only {tokenizer.pieces} pieces, config.json says vocab_size {rows}"


def _strange(tokenizer: TokenizerFile, architecture: str, special: Sequence[Special]) -> str | None:
    kinds = kinds_of(architecture)
    if tokenizer.kind is None or tokenizer.kind in kinds:
        return None
    if special and all(each.agrees for each in special) and tokenizer.begins:
        return None
    why = "puts no token before a text" if not tokenizer.begins else _differences(special) or "no ids to compare"
    return f"{tokenizer.kind}, config.json says {architecture}, which has {' or '.join(kinds)}; and {why}"


def _other_ids(special: Sequence[Special]) -> str | None:
    """One id that differs says little: configs keep defaults. Several of which none agrees do."""
    if len(special) < 2 or any(each.agrees for each in special):
        return None
    return _differences(special)


def _differences(special: Sequence[Special]) -> str:
    differing = [each for each in special if not each.agrees]
    return ", ".join(
        f"{each.role} is {_listed(each.tokenizer)} and in config.json {_listed(each.config)}" for each in differing
    )


def _listed(ids: frozenset[int]) -> str:
    return " or ".join(map(str, sorted(ids)))


def kinds_of(architecture: str) -> tuple[str, ...]:
    """What the pieces of an architecture of the registry are."""
    return next(kinds for family, kinds in KINDS.items() if architecture.startswith(family))
