import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import torch
from backendkit.definition import attend
from backendkit.released import FLASH_SOURCE, PREFILL_SOURCE, signature, source
from backendkit.stand_ins import FlashAttention, Wrapper
from torch import Tensor
from tulip_rose.rose.backends.releases import FLASH_ATTENTION_4, FLASHINFER

CPU = torch.device("cpu")


@pytest.fixture
def flash(monkeypatch: pytest.MonkeyPatch) -> FlashAttention:
    """Where FlashAttention 4 would be imported from, with the parameters of the release."""
    function = FlashAttention(signature(source(FLASH_ATTENTION_4, FLASH_SOURCE), "flash_attn_varlen_func"))
    module: Any = ModuleType("flash_attn.cute")
    module.flash_attn_varlen_func = function
    monkeypatch.setitem(sys.modules, "flash_attn", ModuleType("flash_attn"))
    monkeypatch.setitem(sys.modules, "flash_attn.cute", module)
    return function


@pytest.fixture
def wrappers(monkeypatch: pytest.MonkeyPatch) -> list[Wrapper]:
    """Where FlashInfer would be imported from; the wrappers made of it."""
    text = source(FLASHINFER, PREFILL_SOURCE)
    methods = ("__init__", "plan", "run", "reset_workspace_buffer")
    takes = {each: signature(text, f"BatchPrefillWithRaggedKVCacheWrapper.{each}") for each in methods}
    module: Any = ModuleType("flashinfer")
    made: list[Wrapper] = []
    module.BatchPrefillWithRaggedKVCacheWrapper = type("Released", (Wrapper,), {"takes": takes, "made": made})
    monkeypatch.setitem(sys.modules, "flashinfer", module)
    return made


@pytest.fixture
def kernel() -> Iterator[list[dict[str, Any]]]:
    """A CPU kernel for torch's operator, which has none; what it was called with. Torch itself checks the call."""
    calls: list[dict[str, Any]] = []

    def forward(q: Tensor, k: Tensor, v: Tensor, starts: Tensor, *rest: Any, **keywords: Any) -> tuple[Tensor, ...]:
        _, limit, _, dropout, causal, *_ = rest
        calls.append({"limit": limit, "dropout": dropout, "causal": causal, **keywords})
        used, right = keywords.get("seqused_k"), 0 if causal else keywords["window_size_right"]
        out = attend(
            q,
            k,
            v,
            starts.tolist(),
            scale=keywords["scale"],
            left=None if keywords["window_size_left"] < 0 else keywords["window_size_left"],
            right=None if right < 0 else right,
            seen=None if used is None else used.tolist(),
            longest=limit,
        )
        return out, *(torch.empty(0) for _ in range(4))

    library = torch.library.Library("aten", "IMPL")
    library.impl("_flash_attention_forward", forward, "CPU")
    yield calls
    library._destroy()
