"""`GraphConfig`: which graphs an engine makes, and what it does before it is ready, as flags say it. Knows no torch."""

import math
from dataclasses import dataclass

from tulip_rose.rose.graphs.key import LEAST_TOP, NO_SLOT_FOR_PADS
from tulip_rose.rose.options import GRAPH_MODES, ON_CAPTURE_FAILURE, GraphOptions
from tulip_rose.tulip.errors import ConfigError

_DEFAULT = GraphOptions()


@dataclass(frozen=True, slots=True)
class GraphConfig:
    """Of one serving process; of a device without graphs only the timeout means something."""

    mode: str = _DEFAULT.mode
    """lazy captures a graph at the second use of its sizes; off never does."""
    token_multiple: int = _DEFAULT.multiple
    """Tokens of a batch are padded up to a multiple of it."""
    slots: tuple[int, ...] = _DEFAULT.slots
    """Sequences of a batch are padded up to one of these."""
    prewarm: tuple[tuple[int, int], ...] = ()
    """Tokens and slots of graphs that are captured before the engine is ready."""
    on_failure: str = _DEFAULT.on_failure
    """What comes of a size that cannot be captured: eager, or fail."""
    verify: bool = True
    """Whether vectors of those graphs are compared with those of steps without, before the engine is ready."""
    timeout_s: float = 600.0
    """For loading and warming."""

    def __post_init__(self) -> None:
        _check_choice("--graphs", self.mode, GRAPH_MODES)
        _check_choice("--graph-capture-failure", self.on_failure, ON_CAPTURE_FAILURE)
        if self.token_multiple < 1:
            raise ConfigError(f"--graph-token-multiple: {self.token_multiple} is not a whole number above 0")
        if not self.slots or min(self.slots) < 1 or list(self.slots) != sorted(set(self.slots)):
            raise ConfigError(f"--graph-slots: {self.slots} are not whole numbers above 0 that ascend")
        if self.slots[-1] < LEAST_TOP:
            raise ConfigError(f"--graph-slots: {_shown(self.slots)}: {NO_SLOT_FOR_PADS}")
        if self.mode == "off" and self.prewarm:
            raise ConfigError("--graph-prewarm: there are no graphs with --graphs off; leave one of them out")
        if not (self.timeout_s > 0 and math.isfinite(self.timeout_s)):
            raise ConfigError(f"--warmup-timeout-seconds: {self.timeout_s} is not a finite number above 0")
        for tokens, slots in self.prewarm:
            self._check_size(tokens, slots)

    def options(self, most_tokens: int | None) -> GraphOptions:
        """What of this is the engine's.

        Args:
            most_tokens: of a batch; None: the engine's default.
        """
        return GraphOptions(
            mode=self.mode,
            multiple=self.token_multiple,
            slots=self.slots,
            most_tokens=most_tokens or _DEFAULT.most_tokens,
            # What is warmed up is to be there: a list that is longer than usual is held as a whole.
            most=max(_DEFAULT.most, len(self.prewarm)),
            prewarm=self.prewarm,
            on_failure=self.on_failure,
        )

    def _check_size(self, tokens: int, slots: int) -> None:
        """A size that no batch is padded to would be warmed up for nothing."""
        if tokens < 1 or tokens % self.token_multiple:
            raise ConfigError(f"--graph-prewarm: {tokens}x{slots}: not a multiple of {self.token_multiple} tokens")
        if slots not in self.slots:
            raise ConfigError(f"--graph-prewarm: {tokens}x{slots}: the slots are one of {_shown(self.slots)}")


def read_slots(text: str) -> tuple[int, ...]:
    """Read `N,N,…`.

    Raises:
        ConfigError: it is something else.
    """
    return tuple(_number("--graph-slots", part) for part in text.split(","))


def read_prewarm(text: str) -> tuple[tuple[int, int], ...]:
    """Read `TOKENSxSLOTS,…`.

    Raises:
        ConfigError: it is something else.
    """
    sizes = []
    for size in text.split(","):
        tokens, times, slots = size.partition("x")
        if not times:
            raise ConfigError(f"--graph-prewarm: {size!r} is not TOKENSxSLOTS")
        sizes.append((_number("--graph-prewarm", tokens), _number("--graph-prewarm", slots)))
    return tuple(sizes)


def _number(flag: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ConfigError(f"{flag}: {text!r} is not a whole number")
    return int(text)


def _shown(slots: tuple[int, ...]) -> str:
    return ", ".join(map(str, slots))


def _check_choice(flag: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigError(f"{flag}: {value!r} is not one of {', '.join(known)}")
