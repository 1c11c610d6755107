"""How many bytes of tensors are alive at once: what torch's operations give is counted until nobody holds it."""

import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, UntypedStorage
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Live(TorchDispatchMode):
    """Of the thread that enters it. What an operation takes for itself and gives back at once is not seen."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self._before: dict[int, UntypedStorage] = {}
        """They are kept, so that nothing that is made later lies at the address of one."""
        self._holders: Counter[int] = Counter()

    def __torch_dispatch__(
        self, operation: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        for each in tree_leaves((args, kwargs)):
            if isinstance(each, Tensor) and not each.is_mkldnn and _place(each) not in self._holders:
                self._before[_place(each)] = each.untyped_storage()
        made = operation(*args, **(kwargs or {}))
        for each in tree_leaves(made):
            if isinstance(each, Tensor) and _place(each) not in self._before:
                self._hold(each)
        return made

    def _hold(self, tensor: Tensor) -> None:
        place, size = _place(tensor), tensor.untyped_storage().nbytes()
        if not self._holders[place]:
            self.now += size
            self.most = max(self.most, self.now)
        self._holders[place] += 1
        weakref.finalize(tensor, self._release, place, size)

    def _release(self, place: int, size: int) -> None:
        self._holders[place] -= 1
        if not self._holders[place]:
            self.now -= size
            del self._holders[place]


def _place(tensor: Tensor) -> int:
    return tensor.untyped_storage()._cdata


def most_alive(work: Callable[[], Any]) -> int:
    """Bytes that were made while it worked and were alive at once, at most."""
    with torch.inference_mode(), Live() as live:
        work()
    return live.most
