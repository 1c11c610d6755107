"""`Asked`: what a layer of a model asks of attention, as plain facts. Knows no torch."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Asked:
    """Heads, and who sees whom."""

    heads: int
    kv_heads: int
    size: int
    """Values of one head."""
    dtype: str
    """E.g. bfloat16."""
    left: int | None
    """How many tokens before a query are seen; None: all."""
    right: int | None
    """How many after it; 0 where attention is causal."""
    bias: bool
    """Whether something is added to logits by distance."""
    in_graph: bool = False
    """Whether lengths of texts are known to the device alone, as in a step that is captured."""

    @property
    def right_window(self) -> bool:
        """Whether tokens after the query are seen, but not all."""
        return self.right is not None and self.right > 0

    def __str__(self) -> str:
        shared = "" if self.kv_heads == self.heads else f" over {self.kv_heads} of keys"
        bias = ", a bias by distance" if self.bias else ""
        graph = ", in a graph" if self.in_graph else ""
        return f"{self.heads} heads of {self.size}{shared}, {self._view()}{bias}, {self.dtype}{graph}"

    def _view(self) -> str:
        if self.left is None and self.right is None:
            return "all seen"
        if self.left is None and self.right == 0:
            return "causal"
        sides = ("all" if side is None else str(side) for side in (self.left, self.right))
        return f"{' and '.join(sides)} seen before and after"
