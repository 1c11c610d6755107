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
    """`flashinfer.BatchPrefillWithRaggedKVCacheWrapper`; `made` has all of them.

    In graph mode what runs reads memory of the device alone, as a replayed kernel does: the borders, and the layout of
    the batch that planning has left there. Planning may be forbidden for a while, as in a capture.
    """

    takes: dict[str, inspect.Signature]
    made: list["Wrapper"]
    forbidden = False

    def __init__(self, *args: Any, **keywords: Any) -> None:
        self.given = self.takes["__init__"].bind(*args, **keywords).arguments
        self.plans: list[dict[str, Any]] = []
        self.runs = 0
        self.in_graph = self.given.get("use_cuda_graph", False)
        self.layout: Tensor | None = None
        self.made.append(self)

    def reset_workspace_buffer(self, *args: Any, **keywords: Any) -> None:
        given = self.takes["reset_workspace_buffer"].bind(*args, **keywords).arguments
        assert given["float_workspace_buffer"] is self.given["float_workspace_buffer"]
        self.layout = given["int_workspace_buffer"]

    def plan(self, *args: Any, **keywords: Any) -> None:
        assert not Wrapper.forbidden, "planned within a capture"
        given = self.takes["plan"].bind(*args, **keywords).arguments
        for name in ("qo_indptr", "kv_indptr"):
            assert given[name].dtype == torch.int32
            assert given[name].device.type == "cpu"
        if self.in_graph:
            self._plan_static(given["qo_indptr"])
        self.plans.append(given)

    def _plan_static(self, starts: Tensor) -> None:
        """A step has as many sequences as the first one, and no more rows."""
        assert self.layout is not None
        for name in ("qo_indptr_buf", "kv_indptr_buf"):
            assert self.given[name].shape == starts.shape
            self.given[name].copy_(starts)
        assert not self.plans or starts[-1] <= self.plans[0]["qo_indptr"][-1]
        self._planned_layout(starts.shape[0]).copy_(starts)

    def _planned_layout(self, count: int) -> Tensor:
        assert self.layout is not None
        return self.layout[: 4 * count].view(torch.int32)

    def run(self, *args: Any, **keywords: Any) -> Tensor:
        given = self.takes["run"].bind(*args, **keywords).arguments
        q, k, planned = given["q"], given["k"], self.plans[-1]
        starts = self._static_starts() if self.in_graph else planned["qo_indptr"].tolist()
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

    def _static_starts(self) -> list[int]:
        borders: Tensor = self.given["qo_indptr_buf"]
        assert torch.equal(borders, self._planned_layout(borders.shape[0])), "the layout is that of another step"
        return [int(start) for start in borders]
