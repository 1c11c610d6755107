"""Which attention backend a layer gets, and why. Pure: facts in, a choice with its reasons out.

The order below is that of preference; what stands against a backend is said in one function each. So `auto` takes the
first against which nothing stands, and an explicit choice is refused with what stands against it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from tulip_rose.rose.backends.asked import Asked
from tulip_rose.rose.backends.here import Here
from tulip_rose.rose.backends.releases import FLASH_ATTENTION_4, FLASHINFER
from tulip_rose.rose.errors import LoadError

FLASH4, FA3, FA2, VARLEN, TORCH = "flashattention4", "flashinferFa3", "flashinferFa2", "torchVarlen", "torch"
AUTO = "auto"
WIDEST = 256
"""Values of the largest head that any of these kernels takes."""
_STEP = 8
"""Heads are loaded in pieces of so many values."""
_WIDEST_ON_BLACKWELL = 128

Obstacles = Iterator[str]


class InGraph(Enum):
    """How a backend learns in a step over static buffers, which may be a replay, where sequences begin."""

    READS = "reads where sequences begin from tensors of the device, and has the longest that may come built in"
    PLANS = "is planned on the host before each step, outside of what is captured"
    NEVER = "takes texts of one length at a time, which a graph does not know"


@dataclass(frozen=True, slots=True)
class Choice:
    """A backend, and why it is this one."""

    name: str
    reason: str
    passed_over: tuple[str, ...] = ()
    """Those that would have been preferred, each with what stands against it."""

    def __str__(self) -> str:
        passed = f"; passed over: {'; '.join(self.passed_over)}" if self.passed_over else ""
        return f"{self.name}: {self.reason}{passed}"


def choose_backend(name: str, asked: Asked, here: Here) -> Choice:
    """The backend for a layer.

    Args:
        name: of a backend, or auto.
        asked: what the layer asks.
        here: what there is.

    Raises:
        LoadError: not known, or it cannot serve the layer here; says why, and what would. Of auto: nothing can.
    """
    against = {each: tuple(row.against(asked, here)) for each, row in _TABLE.items()}
    fit = [each for each, obstacles in against.items() if not obstacles]
    if name == AUTO:
        return _first(fit, against, asked)
    if name not in against:
        raise unknown(name)
    if against[name]:
        said = f"attentionBackend {name} cannot serve {asked}: {', '.join(against[name])}"
        raise LoadError(f"{said}; what would work here: {', '.join((AUTO, *fit)) if fit else 'nothing'}")
    return Choice(name, "asked for")


def doubt(name: str, here: Here) -> str | None:
    """What to say of the library that a backend calls; None: nothing."""
    if name == FLASH4:
        return FLASH_ATTENTION_4.doubt(here.flash_attention_4)
    return FLASHINFER.doubt(here.flashinfer) if name in (FA3, FA2) else None


def _first(fit: list[str], against: dict[str, tuple[str, ...]], asked: Asked) -> Choice:
    said = [f"{each} ({', '.join(obstacles)})" for each, obstacles in against.items() if obstacles]
    if not fit:
        raise LoadError(f"no attention backend can serve {asked}: {'; '.join(said)}")
    before, row = list(against).index(fit[0]), _TABLE[fit[0]]
    reason = f"{row.merit}; it {row.in_graph.value}" if asked.in_graph else row.merit
    return Choice(fit[0], reason, tuple(said[:before]))


def unknown(name: str) -> LoadError:
    """The error of a name that no backend has."""
    return LoadError(f"attentionBackend {name!r} is not known here; known are {', '.join((AUTO, *NAMES))}")


def _flash4(asked: Asked, here: Here) -> Obstacles:
    yield from _release(FLASH_ATTENTION_4.obstacle(here.flash_attention_4))
    yield from _flash(asked)
    if here.capability[0] not in (9, 10, 11):
        yield f"it is for compute capability 9, 10 and 11, {here.gpu}"
    elif here.capability[0] > 9 and _WIDEST_ON_BLACKWELL < asked.size < WIDEST:
        yield f"on Blackwell heads have at most {_WIDEST_ON_BLACKWELL} values or {WIDEST}, not {asked.size}"
    yield from _pieces(asked)


def _fa3(asked: Asked, here: Here) -> Obstacles:
    yield from _flashinfer(asked, here)
    if here.capability[0] != 9:
        yield f"it is for compute capability 9 alone, {here.gpu}"


def _fa2(asked: Asked, here: Here) -> Obstacles:
    yield from _flashinfer(asked, here)
    yield from _ampere(here)


def _varlen(asked: Asked, here: Here) -> Obstacles:
    yield from _flash(asked)
    yield from _ampere(here)
    yield from _pieces(asked)


def _torch(asked: Asked, _here: Here) -> Obstacles:
    if asked.in_graph:
        yield f"it {InGraph.NEVER.value}"


def _flashinfer(asked: Asked, here: Here) -> Obstacles:
    yield from _release(FLASHINFER.obstacle(here.flashinfer))
    if here.flashinfer is not None and not here.compiles:
        yield "its kernels are compiled at first use and there is neither nvcc nor flashinfer-jit-cache"
    yield from _flash(asked)
    if asked.right_window:
        yield "its windows reach to the left alone"


def _flash(asked: Asked) -> Obstacles:
    """What no kernel but torch's plain one takes."""
    if asked.dtype != "bfloat16":
        yield f"it takes bfloat16, not {asked.dtype}"
    if asked.bias:
        yield "it adds no bias to logits"
    if asked.size > WIDEST:
        yield f"heads have at most {WIDEST} values, not {asked.size}"


def _pieces(asked: Asked) -> Obstacles:
    if asked.size % _STEP:
        yield f"heads are a multiple of {_STEP} values, not {asked.size}"


def _ampere(here: Here) -> Obstacles:
    if here.capability < (8, 0):
        yield f"it is for compute capability 8 and above, {here.gpu}"


def _release(obstacle: str | None) -> Obstacles:
    if obstacle is not None:
        yield obstacle


@dataclass(frozen=True, slots=True)
class _Row:
    against: Callable[[Asked, Here], Obstacles]
    in_graph: InGraph
    merit: str


_READS, _PLANS = InGraph.READS, InGraph.PLANS
_TABLE = {
    FLASH4: _Row(
        _flash4, _READS, "made for this generation of GPUs, windows to both sides, nothing to plan on the host"
    ),
    FA3: _Row(_fa3, _PLANS, "made for Hopper; each batch is planned on the host"),
    VARLEN: _Row(_varlen, _READS, "FlashAttention 2 as it comes with torch: nothing to install, nothing to plan"),
    FA2: _Row(_fa2, _PLANS, "any GPU from Ampere on and heads of any size; each batch is planned on the host"),
    TORCH: _Row(_torch, InGraph.NEVER, "any layer, in one call for all texts of one length"),
}
NAMES = tuple(_TABLE)
