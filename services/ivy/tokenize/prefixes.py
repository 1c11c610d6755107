"""Prefixes of texts that are tokens of the vocabulary: made to be one token wherever they stand. Knows no file."""

from collections.abc import Iterable

import tokenizers


def keep_whole(inner: tokenizers.Tokenizer, prefixes: Iterable[str]) -> None:
    """Make a tokenizer read each prefix as the one token that it is, where the vocabulary has it.

    Args:
        inner: is changed.
        prefixes: each stands for itself, or for its first word, whichever of them is a token.
    """
    for prefix in prefixes:
        names = (prefix, *prefix.split()[:1])
        token = next((name for name in names if name and inner.token_to_id(name) is not None), None)
        if token is not None:
            inner.add_special_tokens([tokenizers.AddedToken(token, normalized=False, special=True)])
