"""`Writing`: one kind of vector, and whether it is written as numbers or as base64. Knows no route."""

from dataclasses import dataclass

from ivy.errors import BadRequest
from ivy.vectors import VectorKind


@dataclass(frozen=True, slots=True)
class Writing:
    """How the vectors of an answer are written."""

    kind: VectorKind
    as_base64: bool


DTYPES = {
    "float": VectorKind.FLOAT32,
    "float32": VectorKind.FLOAT32,
    "float16": VectorKind.FLOAT16,
    "bfloat16": VectorKind.BFLOAT16,
    "int8": VectorKind.INT8,
    "uint8": VectorKind.UINT8,
    "binary": VectorKind.BINARY,
    "ubinary": VectorKind.UBINARY,
}
"""The types that a request may name."""

_WHOLE = {
    "base64_int8": Writing(VectorKind.INT8, True),
    "base64_binary": Writing(VectorKind.BITS, True),
}
"""Formats that say the type themselves."""


def writing_of(encoding_format: str | None, output_dtype: str | None) -> Writing:
    """Read the two fields that say how vectors are written.

    Raises:
        BadRequest: both say the type.
    """
    whole = _WHOLE.get(encoding_format or "")
    if whole is None:
        return Writing(DTYPES[output_dtype or "float"], encoding_format == "base64")
    if output_dtype is not None:
        raise BadRequest(f"encoding_format {encoding_format} says the type already", param="output_dtype")
    return whole
