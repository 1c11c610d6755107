"""`Scale`: how much is done, on a GPU and without one. `Clock`: what is left of the time. Both know no device."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

GPU, CPU = "cuda", "cpu"


@dataclass(frozen=True)
class Scale:
    """Numbers of one run.

    Attributes:
        device: GPU, or CPU.
        small: whether models have few small layers.
        dtype: of contenders.
        lengths: of the single texts whose latency is measured, in tokens.
        rounds: in which every contender has its turn.
        calls: of one contender in one round, of a short text; of longer ones fewer.
        batch_tokens: of a batch where throughput counts.
        text_tokens: of a text where throughput counts.
        batches: of one contender in one round.
        clients: that ask at once, each for one text after another.
        client_tokens: of such a text.
        texts: that each round of clients asks for, altogether.
        sizes: tokens and sequences of the batches whose graphs are compared with eager steps; of each size the first
            step has to be one of them, so no two are padded to one size, and none to that of a single token.
        checked: lengths of the texts that are compared with the reference.
        longest: input of a model.
    """

    device: str
    small: bool
    dtype: str
    lengths: tuple[int, ...]
    rounds: int
    calls: int
    batch_tokens: int
    text_tokens: int
    batches: int
    clients: tuple[int, ...]
    client_tokens: int
    texts: int
    sizes: tuple[tuple[int, int], ...]
    checked: tuple[int, ...]
    longest: int

    def calls_of(self, length: int) -> int:
        """Calls of one round, of a text of this length: in about equal time, at least three."""
        return max(3, min(self.calls, self.calls * 256 // length))


ON_GPU = Scale(
    device=GPU,
    small=False,
    dtype="bfloat16",
    lengths=(16, 32, 64, 128, 512, 4096),
    rounds=5,
    calls=40,
    batch_tokens=16_384,
    text_tokens=512,
    batches=6,
    clients=(1, 8, 64, 256),
    client_tokens=128,
    texts=1024,
    sizes=((190, 1), (128, 2), (120, 3), (500, 7), (4000, 31), (8100, 1), (16_300, 120)),
    checked=(1, 2, 15, 16, 17, 63, 64, 65, 127, 128, 129, 512, 513, 4096, 17, 17),
    longest=8192,
)
ON_CPU = Scale(
    device=CPU,
    small=True,
    dtype="float32",
    lengths=(16, 64, 128),
    rounds=2,
    calls=3,
    batch_tokens=512,
    text_tokens=64,
    batches=2,
    clients=(1, 8),
    client_tokens=16,
    texts=24,
    sizes=((190, 1), (128, 2), (120, 3), (250, 7)),
    checked=(1, 15, 16, 17, 63, 64, 65, 128, 17, 17),
    longest=512,
)


@dataclass
class Clock:
    """Of one run. What was left out for want of time is named in the result.

    Attributes:
        seconds: for everything.
        now: seconds of a clock that never goes back.
        left_out: what was not done, and why.
    """

    seconds: float
    now: Callable[[], float] = time.monotonic
    left_out: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._began = self.now()

    @property
    def gone(self) -> float:
        """Seconds since the start."""
        return self.now() - self._began

    @property
    def left(self) -> float:
        """Seconds."""
        return self.seconds - self.gone

    def room(self, what: str, needs: float) -> bool:
        """Whether there is time for a part that needs so many seconds; if not, it is named as left out."""
        if self.left >= needs:
            return True
        self.left_out.append(f"{what}: about {needs:.0f} s, {max(0.0, self.left):.0f} s were left")
        return False

    def rounds(self, what: str, most: int, reserve: float) -> Iterator[int]:
        """Numbers of rounds, as long as the next one, which takes as long as the longest before, leaves a reserve."""
        longest = 0.0
        for number in range(most):
            began = self.now()
            if number and self.left < longest + reserve:
                self.left_out.append(f"{what}: {most - number} of {most} rounds")
                return
            yield number
            longest = max(longest, self.now() - began)
