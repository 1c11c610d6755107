"""How many token rows a batch gets on CPU: few enough different numbers that each one's kernels are at hand.

oneDNN makes a kernel for each number of rows that a linear layer meets: 0.5 to 0.75 ms and 0.56 MB each, times the four
linear layers of a BERT layer, kept in a cache of 1,024. Ragged batches of up to 512 tokens meet 512 numbers; rounded up
as below they meet 32.
"""

_STEPS = ((32, 4), (128, 8), (512, 32), (4096, 128))
"""Up to so many tokens, round up to a multiple of so many."""
_BEYOND = 256


def bucket_tokens(tokens: int) -> int:
    """Rows for a batch of `tokens` tokens; at least as many."""
    multiple = next((multiple for limit, multiple in _STEPS if tokens <= limit), _BEYOND)
    return -(-tokens // multiple) * multiple
