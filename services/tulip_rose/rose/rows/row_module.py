"""`RowModule`: a step from pooled rows to rows. Knows neither tokens nor what a caller asked for."""

from typing import Protocol

from torch import Tensor


class RowModule(Protocol):
    """Maps each row by itself."""

    @property
    def out(self) -> int:
        """Values of a row that it gives."""

    @property
    def held(self) -> int:
        """Bytes of its weights."""

    def __call__(self, rows: Tensor) -> Tensor:
        """Map rows.

        Args:
            rows: float32 [R, in], on the device of the model.

        Returns:
            float32 [R, out]; a row that is not finite stays one that is not.
        """
