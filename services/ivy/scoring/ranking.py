"""The order of scores. Pure."""

import numpy as np
from numpy.typing import NDArray


def ranked(values: NDArray[np.float32], top_n: int | None) -> list[int]:
    """Places of values, the greatest first; equal ones in their order.

    Args:
        values: finite, `[count]`.
        top_n: how many are wanted; None or more than there are: all.
    """
    order: list[int] = np.argsort(-values, kind="stable")[:top_n].tolist()
    return order
