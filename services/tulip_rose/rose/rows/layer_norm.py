"""`LayerNorm`: a layer norm of rows. Knows no folder."""

from torch import Tensor
from torch.nn import functional


class LayerNorm:
    """See `RowModule`."""

    def __init__(self, weight: Tensor, bias: Tensor | None, epsilon: float) -> None:
        """Both float32 [out]."""
        self.out = weight.shape[0]
        self._weight, self._bias, self._epsilon = weight, bias, epsilon
        self.held = weight.nbytes + (0 if bias is None else bias.nbytes)

    def __call__(self, rows: Tensor) -> Tensor:
        """See `RowModule`."""
        return functional.layer_norm(rows, (self.out,), self._weight, self._bias, self._epsilon)
