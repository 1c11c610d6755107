"""From pooled rows to what was asked: cut, then normalise, then quantise; always from float32."""

import torch
from torch import Tensor
from torch.nn import functional

from tulip_rose.sequence import OutputForm, VectorType


def finish(rows: Tensor, form: OutputForm) -> Tensor:
    """Give pooled rows the form that was asked.

    A cut vector has unit norm again, since normalising comes after cutting. int8 is that of pplx-embed,
    `clamp(round(127·tanh(x)), -128, 127)`, made from the vector before normalising; its binary is the sign (x ≥ 0),
    least significant bit first. Neither depends on the norm of the vector in a way that normalising would mend.

    Args:
        rows: float32 [R, H].
        form: dimensions at most H.

    Returns:
        float32 or int8 [R, dimensions], or packed bits uint8 [R, ceil(dimensions / 8)].
    """
    cut = rows[:, : form.dimensions]
    if form.vector_type is VectorType.INT8:
        return cut.tanh().mul(127).round().clamp(-128, 127).to(torch.int8)
    if form.vector_type is VectorType.BINARY:
        return _pack_bits(cut >= 0)
    return functional.normalize(cut, dim=1) if form.normalize else cut.contiguous()


def finite(rows: Tensor) -> Tensor:
    """Which rows hold finite numbers alone: bool [R]."""
    return torch.isfinite(rows).all(dim=1)


def _pack_bits(bits: Tensor) -> Tensor:
    padded = functional.pad(bits.to(torch.uint8), (0, -bits.shape[1] % 8))
    # Made on the device: a list would be copied there, and waited for.
    places = torch.arange(8, dtype=torch.uint8, device=bits.device)
    return (padded.view(bits.shape[0], -1, 8) << places).sum(dim=2, dtype=torch.uint8)
