"""How many token rows a batch gets on CPU: few enough different numbers that each one's kernels are at hand.

oneDNN makes a kernel for each number of rows that it meets: 0.5 to 0.75 ms for each of the four linear layers of a
BERT layer, kept in a cache of 1,024. Ragged batches meet thousands of numbers; rounded up as below they meet 112.
"""

_STEPS = ((128, 4), (512, 16), (4096, 64))
"""Up to so many tokens, round up to a multiple of so many: at most 13 % more in a batch of 32 and above."""
_BEYOND = 256


def bucket_tokens(tokens: int) -> int:
    """Rows for a batch of `tokens` tokens; at least as many."""
    multiple = next((multiple for limit, multiple in _STEPS if tokens <= limit), _BEYOND)
    return -(-tokens // multiple) * multiple
