"""Compiles every kernel for GPUs that are not here, and prints what each one takes: run as a program of its own.

Triton interprets or compiles, one for a whole process; tests of kernels interpret.
"""

import json
import sys
from typing import Any

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from tulip_rose.rose.kernels import activate, embedding, finish, norm, pool, sandwich, turn
from tulip_rose.rose.kernels.launch import part_of_row, some_heads, some_tokens, whole_row
from tulip_rose.rose.layers.linear import Activation
from tulip_rose.rose.pooling_words import Pooling

HIDDEN = 1024
ROW, PART, TILE, HEADS = whole_row(HIDDEN), part_of_row(3072), some_tokens(HIDDEN), some_heads(24, 128)
Case = tuple[Any, dict[str, str | None], dict[str, Any], int]


def _floats(dtype: str, names: str) -> dict[str, str | None]:
    return dict.fromkeys(names.split(), f"*{dtype}")


def cases(dtype: str) -> dict[str, Case]:
    """Each kernel as it is called for states of a dtype: types of arguments, None where there is none, and sizes."""
    row = {"size": HIDDEN, "block": ROW.block}
    made: dict[str, Case] = {}
    for root in (True, False):
        made[f"norm {root}"] = (
            norm._norm,
            {**_floats(dtype, "x plus weight out"), "bias": None if root else f"*{dtype}", "epsilon": "fp32"},
            {**row, "root": root},
            ROW.warps,
        )
    tables = {**dict.fromkeys(("ids", "rows", "types"), "*i64"), **_floats(dtype, "words places weight bias out")}
    numbers = {"epsilon": "fp32", **dict.fromkeys(("vocabulary", "longest", "apart"), "i32")}
    made["embed"] = embedding._embed, {**tables, **numbers}, {**row, "root": False}, ROW.warps
    joined = {**_floats(dtype, "x made total out"), **_floats("fp32", "before after")}
    epsilons: dict[str, str | None] = dict.fromkeys(("before_epsilon", "after_epsilon"), "fp32")
    made["between"] = sandwich._between, {**joined, **epsilons}, row, ROW.warps
    heads = {"heads": 24, "half": 64, "width": 32 * 128, "high": HEADS.high, "wide": HEADS.wide}
    for weight in ("*fp32", None):
        tensors = {"qkv": f"*{dtype}", "cos": "*fp32", "sin": "*fp32", "weight": weight, "epsilon": "fp32"}
        made[f"turn {weight}"] = turn._turn, tensors, heads, HEADS.warps
    for kind in Activation:
        sizes = {"width": 3072, "block": PART.block, "kind": kind.value, "gated": True}
        made[f"gate {kind.value}"] = activate._activate, _floats(dtype, "x out"), sizes, PART.warps
    for pooling in (each for each in Pooling if each not in pool.PICKED):
        sizes = {"size": HIDDEN, "high": TILE.high, "wide": TILE.wide, "kind": pooling.value}
        tensors = {"states": f"*{dtype}", "bounds": "*i32", "positions": "*i64", "out": "*fp32", "stride": "i32"}
        made[f"pool {pooling.value}"] = pool._pool, tensors, sizes, TILE.warps
    return {**made, **_finishes(dtype)}


def _finishes(dtype: str) -> dict[str, Case]:
    made: dict[str, Case] = {}
    for form, out in (("float32", "*fp32"), ("int8", "*i8"), ("binary", "*u8")):
        for pick in (pool.FIRST, pool.LAST, ""):
            tensors = {
                "rows": f"*{dtype}" if pick else "*fp32",
                "bounds": "*i32" if pick else None,
                "good": None if pick else "*i1",
                "out": out,
                "finite": "*i1",
            }
            sizes = {"width": HIDDEN, "kept": 1000, "block": ROW.block, "bits": 8}
            sizes |= {"form": form, "unit": form == "float32", "pick": pick}
            made[f"finish {form} {pick}"] = finish._finish, tensors, sizes, ROW.warps
    return made


def compiled(case: Case, generation: int) -> dict[str, int]:
    """Compile one for a generation of GPUs: bytes of shared memory of a block, and of the machine code."""
    kernel, types, sizes, warps = case
    signature = {name: types.get(name) or "constexpr" for name in kernel.arg_names}
    constants = {name: sizes.get(name) for name in kernel.arg_names if signature[name] == "constexpr"}
    made = triton.compile(
        ASTSource(kernel, signature, constants),
        target=GPUTarget("cuda", generation, 32),
        options={"num_warps": warps},
    )
    return {"shared": made.metadata.shared, "bytes": len(made.asm["cubin"])}


if __name__ == "__main__":
    generation = int(sys.argv[1])
    found = {
        f"{name} {dtype}": compiled(case, generation)
        for dtype in ("bf16", "fp32")
        for name, case in cases(dtype).items()
    }
    print(json.dumps(found))
