"""The memory planner: what a model with its graphs takes of a device, before anything of it is loaded.

Weights, buffers and what attention takes for itself are sums. Activations are an upper bound of what is alive at once
in the widest layer; graphs and the reserve are estimates, to be replaced by what a GPU shows. Knows no device.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.graphs.key import Buckets, Key
from tulip_rose.rose.graphs.layout import given_bytes, out_bytes
from tulip_rose.rose.plan.heads import FLOAT32, Needy, StepSize, together

MIB = 1024 * 1024
GRAPH_BYTES = 16 * MIB
"""Of one captured model: nodes, their arguments and what the driver keeps of them. Activations are shared by all: they
lie in a pool beside what steps without a graph have taken, which torch gives to no pool while it captures."""
RESERVE_BYTES = 1024 * MIB
"""Context of the driver, workspaces of matrix products, and what the allocator cannot hand out again."""
STEPS = 3
"""Slots of the ring: two steps in flight, and one more."""

WEIGHTS = "weights"
DEVICE_PARTS = (WEIGHTS, "activations", "buffers", "graphs", "attention", "heads", "reserve")
RING, RESULTS, PLANS = "ring", "results", "plans"
PINNED_PARTS = (RING, RESULTS, PLANS)
"""Of the host: slots of steps, what heads make behind steps, and what attention is planned into."""

_NAMES = {
    "hidden": ("hidden_size", "dim", "n_embd"),
    "inner": ("intermediate_size", "hidden_dim", "n_inner"),
    "heads": ("num_attention_heads", "n_heads", "n_head"),
    "keys": ("num_key_value_heads",),
    "size": ("head_dim",),
}
"""What configs of the families call the sizes."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Values that a token has in a layer."""

    hidden: int
    inner: int
    queries: int
    """Of all heads; as many are attended."""
    keys: int
    """Of all heads; as many are values."""

    @classmethod
    def of(cls, config: Mapping[str, Any], where: str) -> "Shape":
        """From `config.json`.

        Raises:
            LoadError: a size is missing, or no whole number above 0.
        """
        hidden, inner = (_size(config, where, name, None) for name in ("hidden", "inner"))
        heads, keys, size = heads_of(config, where)
        return cls(hidden, inner, heads * size, keys * size)

    def row_bytes(self, value_bytes: int) -> int:
        """Activations of one row that are alive at once, at most.

        Beside the states, their sum and their norm: queries, keys and values before and after they are turned, with
        what was attended, which torch's attention copies into its place; or gate, up and their product. Norms work in
        float32.
        """
        attention = 2 * (self.queries + 2 * self.keys) + 2 * self.queries
        return (3 * self.hidden + max(attention, 3 * self.inner)) * value_bytes + 2 * self.hidden * FLOAT32


def heads_of(config: Mapping[str, Any], where: str) -> tuple[int, int, int]:
    """From `config.json`: heads of queries, heads of keys, and the values of one.

    Raises:
        LoadError: a size is missing, or no whole number above 0.
    """
    heads = _size(config, where, "heads", None)
    size = _size(config, where, "size", max(1, _size(config, where, "hidden", None) // heads))
    return heads, _size(config, where, "keys", heads), size


@dataclass(frozen=True, slots=True)
class AttentionNeeds:
    """Bytes that attention takes for itself."""

    device: int = 0
    pinned: int = 0


@dataclass(frozen=True, slots=True)
class Needs:
    """What is to be held."""

    weights_bytes: int
    """In the dtype in which they are used."""
    shape: Shape
    value_bytes: int
    """Of an activation."""
    dimensions: int
    """Of the widest row that comes out."""
    buckets: Buckets
    graphs: int
    """Held at once."""
    attention: AttentionNeeds = AttentionNeeds()
    heads: tuple[Needy, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """Bytes, by what they are for."""

    device: Mapping[str, int]
    ring: int
    """Of the host, pinned; so are the next ones."""
    results: int = 0
    plans: int = 0

    @property
    def device_bytes(self) -> int:
        """All of the device."""
        return sum(self.device.values())

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {_shown(size)}" for name, size in self.device.items() if size)
        pinned = _shown(self.ring + self.results + self.plans)
        return f"{_shown(self.device_bytes)} of the device ({parts}) and {pinned} of pinned memory"

    @property
    def parts(self) -> Mapping[str, int]:
        """All of them."""
        return {**self.device, RING: self.ring, RESULTS: self.results, PLANS: self.plans}


@dataclass(frozen=True, slots=True)
class Memory:
    """What an engine was planned to take, and what it takes."""

    planned: Mapping[str, int]
    """Bytes by what they are for; empty where nothing is planned."""
    used: Callable[[], int]
    """Bytes of the device by now; from any thread."""


UNPLANNED = Memory({}, lambda: 0)


def plan_memory(needs: Needs) -> MemoryPlan:
    """What everything takes together."""
    rows, slots = needs.buckets.most_rows, needs.buckets.slots[-1]
    ids, out = given_bytes(Key(rows, slots)), out_bytes(slots, needs.dimensions)
    step = StepSize(rows, slots, needs.shape.hidden, needs.value_bytes)
    heads = together(head.needs(step) for head in needs.heads)
    states = rows * needs.shape.hidden * needs.value_bytes
    activations = rows * needs.shape.row_bytes(needs.value_bytes)
    sizes = (
        needs.weights_bytes + heads.held,
        activations,
        ids + out + states,
        needs.graphs * GRAPH_BYTES + activations,
        needs.attention.device,
        heads.device,
        RESERVE_BYTES,
    )
    device = dict(zip(DEVICE_PARTS, sizes, strict=True))
    return MemoryPlan(device, STEPS * (ids + out), STEPS * heads.pinned, needs.attention.pinned)


def fit_memory(needs: Needs, free_bytes: int, longest: int) -> MemoryPlan:
    """The plan, where the device has room for it.

    Args:
        needs: what is to be held.
        free_bytes: of the device, that the model may take.
        longest: tokens of the longest input: batches cannot be made smaller than it. At most what the buckets hold.

    Raises:
        LoadError: it has not; says what everything takes, and what would fit.
    """
    plan = plan_memory(needs)
    if plan.device_bytes <= free_bytes:
        return plan
    advice = _advice(needs, free_bytes, longest)
    raise LoadError(f"the model takes {plan}, the device has {_shown(free_bytes)} for it: {advice}")


def _advice(needs: Needs, free_bytes: int, longest: int) -> str:
    """What would fit: smaller batches, then fewer graphs as well; else nothing."""
    for graphs in (needs.graphs, min(needs.graphs, 1)):
        tokens = _most_tokens(replace(needs, graphs=graphs), free_bytes, longest)
        if tokens:
            fewer = "" if graphs == needs.graphs else " and a single graph"
            return f"batches of at most {tokens} tokens{fewer} would fit"
    return f"not even batches of {longest} tokens, its longest input, and a single graph would fit"


def _most_tokens(needs: Needs, free_bytes: int, longest: int) -> int:
    """Of a batch that fits, in whole multiples or that of the longest input; 0: there is none."""
    buckets = needs.buckets

    def fits(tokens: int) -> bool:
        return plan_memory(replace(needs, buckets=replace(buckets, most_tokens=tokens))).device_bytes <= free_bytes

    if not fits(longest):
        return 0
    low, high = longest, buckets.most_tokens
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _size(config: Mapping[str, Any], where: str, name: str, default: int | None) -> int:
    key = next((key for key in _NAMES[name] if config.get(key) is not None), None)
    value = default if key is None else config[key]
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise LoadError(f"{where}: {key or _NAMES[name][0]} is {value!r}, a whole number above 0 was expected")
    return value


def _shown(size: int) -> str:
    return f"{size / (1024 * MIB):.2f} GiB"
