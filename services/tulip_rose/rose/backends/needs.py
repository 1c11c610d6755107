"""Memory that attention takes for itself, beside what layers work on: FlashInfer plans into it. Pure.

Only of steps over static buffers: where nothing is captured, nothing is planned either.
"""

from collections.abc import Iterable

from tulip_rose.rose.backends.asked import Asked
from tulip_rose.rose.backends.here import Here
from tulip_rose.rose.backends.table import FA2, FA3, choose_backend
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.plan.memory import AttentionNeeds

WORKSPACE_BYTES = 128 << 20
"""Of the device: what the library recommends. All wrappers of a backend share it: it holds what a step needs while it
runs, and steps of one stream never run at once."""
LAYOUT_BYTES = 8 << 20
"""What the library takes for the layout of a batch by itself: of the device, and pinned memory that it comes from."""
MOST_SIZES = 64
"""Of steps that have wrappers: each takes pinned memory for each kind of layer."""


def attention_needs(name: str, kinds: Iterable[Asked], here: Here, sizes: int) -> AttentionNeeds:
    """What the backends of a model's layers take.

    Args:
        name: of the backend that was asked for, or auto.
        kinds: what each kind of layer asks, in a graph.
        here: what there is.
        sizes: of steps that there can be.
    """
    planned = [chosen for chosen in (_chosen(name, asked, here) for asked in kinds) if chosen in (FA2, FA3)]
    if not planned:
        return AttentionNeeds()
    # A wrapper takes a layout of its own before it is given the one that all sizes share, so there is one more of each.
    return AttentionNeeds(
        device=len({*planned}) * WORKSPACE_BYTES + (len(planned) + 1) * LAYOUT_BYTES,
        pinned=(len(planned) * min(sizes, MOST_SIZES) + 1) * LAYOUT_BYTES,
    )


def _chosen(name: str, asked: Asked, here: Here) -> str | None:
    """None where nothing serves: such a model has no graphs, or does not start."""
    try:
        return choose_backend(name, asked, here).name
    except LoadError:
        return None
