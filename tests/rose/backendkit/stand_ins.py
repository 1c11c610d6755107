"""Stand-ins for the libraries: they take what the release takes, remember it, and do what the release documents."""

import inspect
from typing import Any

import torch
from backendkit.definition import attend
from torch import Tensor


class FlashAttention:
    """`flash_attn.cute.flash_attn_varlen_func`."""

    def __init__(self, takes: inspect.Signature) -> None:
        self._takes = takes
        self.calls: list[dict[str, Any]] = []

    def __call__(self, *args: Any, **keywords: Any) -> tuple[Tensor, None]:
        given = self._takes.bind(*args, **keywords).arguments
        self.calls.append(given)
        q, starts, used = given["q"], given["cu_seqlens_q"], given["seqused_k"]
        assert q.dtype == torch.bfloat16
        assert starts.dtype == given["cu_seqlens_k"].dtype == torch.int32
        assert given["max_seqlen_q"] == given["max_seqlen_k"] >= int(starts.diff().max())
        left, right = given["window_size"]
        return attend(
            q,
            given["k"],
            given["v"],
            starts.tolist(),
            scale=given["softmax_scale"],
            left=left,
            right=0 if given["causal"] else right,
            seen=None if used is None else used.tolist(),
        ), None


class Wrapper:
    """`flashinfer.BatchPrefillWithRaggedKVCacheWrapper`; `made` has all of them."""

    takes: dict[str, inspect.Signature]
    made: list["Wrapper"]

    def __init__(self, *args: Any, **keywords: Any) -> None:
        self.given = self.takes["__init__"].bind(*args, **keywords).arguments
        self.plans: list[dict[str, Any]] = []
        self.runs = 0
        self.made.append(self)

    def plan(self, *args: Any, **keywords: Any) -> None:
        given = self.takes["plan"].bind(*args, **keywords).arguments
        for name in ("qo_indptr", "kv_indptr"):
            assert given[name].dtype == torch.int32
            assert given[name].device.type == "cpu"
        self.plans.append(given)

    def run(self, *args: Any, **keywords: Any) -> Tensor:
        given = self.takes["run"].bind(*args, **keywords).arguments
        q, k, planned = given["q"], given["k"], self.plans[-1]
        starts = planned["qo_indptr"].tolist()
        assert q.shape == (starts[-1], planned["num_qo_heads"], planned["head_dim_qk"])
        assert k.shape == given["v"].shape == (starts[-1], planned["num_kv_heads"], planned["head_dim_qk"])
        assert q.dtype == k.dtype == planned["q_data_type"]
        assert planned["head_dim_qk"] in (64, 128, 256)
        left = planned["window_left"]
        self.runs += 1
        return attend(
            q,
            k,
            given["v"],
            starts,
            scale=planned["sm_scale"],
            left=None if left < 0 else left,
            right=0 if planned["causal"] else None,
        )
