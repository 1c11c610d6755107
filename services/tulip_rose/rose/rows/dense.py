"""`Dense`: a linear layer of rows, and what follows it. Knows no folder."""

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional

from tulip_rose.rose.rows.activation import RowActivation


@dataclass(frozen=True, slots=True)
class Dense:
    """See `RowModule`."""

    out: int
    weight: Tensor
    """float32 [out, in]."""
    bias: Tensor | None
    """float32 [out]."""
    activation: RowActivation
    residual: Tensor | bool = False
    """Whether the rows themselves are added in the end; or what they are multiplied with before, float32 [out, in]."""

    @property
    def held(self) -> int:
        """See `RowModule`."""
        tensors = (self.weight, self.bias, self.residual)
        return sum(tensor.nbytes for tensor in tensors if isinstance(tensor, Tensor))

    def __call__(self, rows: Tensor) -> Tensor:
        """See `RowModule`."""
        made = self.activation(functional.linear(rows, self.weight, self.bias))
        if self.residual is False:
            return made
        return made + (rows if self.residual is True else functional.linear(rows, self.residual))
