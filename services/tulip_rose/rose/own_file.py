"""`config_sentence_transformers.json`: what sentence-transformers and PyLate write of a whole model. Knows no torch.

What of it prompts, scores and pairs go by is read where they are made. Here is seen that nothing else stands in it.
"""

from pathlib import Path
from typing import Any

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.folder import read_object

OWN_FILE = "config_sentence_transformers.json"
DENSE, SPARSE, SCORES = "SentenceTransformer", "SparseEncoder", "CrossEncoder"
TOKENS = ("ColBERT", "MultiVectorEncoder")
"""What a model may say that it is: with vectors of texts, of terms, scores, vectors of tokens."""
_EFFECTIVE = frozenset(
    {
        "activation_fn",
        "attend_to_expansion_tokens",
        "attend_to_mask_tokens",
        "default_prompt_name",
        "do_query_expansion",
        "document_length",
        "document_prefix",
        "matryoshka_dimensions",
        "model_type",
        "prompts",
        "query_length",
        "query_prefix",
        "similarity_fn_name",
        "skiplist_words",
        "truncate_dim",
    }
)
_IDLE = frozenset({"__version__", "requirements", "keep_in_fp32_modules"})
"""Of versions and of how weights are held, which change no vector here: float32 or bfloat16 is the manifest's."""
_UNSET = frozenset({"max_active_dims"})
"""Understood only where nothing is asked by them."""


def read_own(folder: Path) -> dict[str, Any]:
    """What the file says; empty where there is none.

    Raises:
        LoadError: it is no JSON object, or asks for what is not understood, which may change vectors.
    """
    found = read_object(folder, OWN_FILE)
    for key in sorted(set(found) - _EFFECTIVE - _IDLE):
        if key not in _UNSET:
            raise LoadError(f"{folder / OWN_FILE}: {key} is not known; known are {', '.join(sorted(_EFFECTIVE))}")
        if found[key] is not None:
            raise LoadError(f"{folder / OWN_FILE}: {key} {found[key]!r} is not supported; a request says max_terms")
    return found


def check_type(folder: Path, *gives: str) -> None:
    """See that a model says to be what its modules make.

    Args:
        folder: of the model.
        gives: types that fit what its modules make.

    Raises:
        LoadError: its `model_type` is another one.
    """
    named = read_own(folder).get("model_type")
    if named is not None and named not in gives:
        raise LoadError(f"{folder / OWN_FILE}: model_type {named!r}, but its modules make a {' or '.join(gives)}")
