"""How many engines the work in sight needs. Pure: knows no cluster, no clock and no query.

Two demands, and the larger one counts. Tokens arrive at a rate, of which an engine takes its capacity at the asked
utilization; and tokens that wait need so many engines that each has no more than its share of them: what it does in a
few seconds, or a number that was given. The rate keeps engines from running into a queue, the queue corrects a capacity
that was measured at another mix of lengths, and it is all that is known before anything was measured.
"""

import math
from dataclasses import dataclass

TOLERANCE = 0.1
"""Of Kubernetes' autoscaler: a need that is this near to what is there moves nothing."""
QUEUE_SHARE = 0.5
"""Of an engine's queue, that may wait at most: what finds no room there is refused."""
UNMEASURED_ON_CPU = 16_000
"""Tokens that may wait for an engine of which nothing was measured: what the one of docs/sizing.md does in 2 s."""
UNMEASURED_ACCELERATED = 200_000
SMALL_BATCH = 1 / 16
"""Of a full batch: on an accelerator smaller ones take nearly as long as this, and say little of its speed."""
FULL_BATCH = 16_384
"""Tokens that fill an accelerator. That a model's longest text lets a batch hold more makes a batch no smaller."""


@dataclass(frozen=True)
class Demand:
    """What is seen of one model.

    Attributes:
        waiting_tokens: in the queues of its engines, and held by its gateways while there is no engine.
        tokens_per_second: that its engines take from their queues.
        capacity_tokens_per_second: of one engine while it is busy; 0 where none was measured.
        queue_tokens: that the queue of one engine has room for; 0 where none has said.
        batch_tokens: in the mean batch; 0 where none was made.
        max_batch_tokens: that a batch may hold; 0 where no engine has said.
        engines: that serve, and are not about to go.
    """

    waiting_tokens: float
    tokens_per_second: float
    capacity_tokens_per_second: float
    queue_tokens: float = 0.0
    batch_tokens: float = 0.0
    max_batch_tokens: float = 0.0
    engines: int = 0


@dataclass(frozen=True)
class Targets:
    """What is asked for.

    Attributes:
        waiting_tokens: of one engine; None: as many as it does in `wait_s`, and at most a share of its queue.
        utilization: the part of its time in which an engine should be busy, above 0 and at most 1.
        min_replicas: the fewest engines.
        max_replicas: the most.
        wait_s: of work that may wait for an engine.
        unmeasured_tokens: that may wait for one of which nothing was measured.
        accelerated: whether engines have accelerators, of which small batches do not tell what they can do.
    """

    waiting_tokens: float | None
    utilization: float
    min_replicas: int
    max_replicas: int
    wait_s: float = 2.0
    unmeasured_tokens: float = UNMEASURED_ON_CPU
    accelerated: bool = False


def need(demand: Demand, targets: Targets) -> float:
    """Engines that the demand needs, as a number that is not rounded; 0 where nobody asks."""
    return max(_by_rate(demand, targets), demand.waiting_tokens / _may_wait(demand, targets))


def replicas(needed: float, current: int, targets: Targets) -> int:
    """Engines that there should be, as Kubernetes' autoscaler makes them of a need.

    From zero any need at all starts one. A need within the tolerance of what is there changes nothing, so that a
    demand between two numbers does not add and take away an engine for ever.
    """
    settled = current > 0 and needed > 0 and abs(needed / current - 1) <= TOLERANCE
    wanted = current if settled else math.ceil(needed)
    return min(max(wanted, targets.min_replicas), targets.max_replicas)


def _may_wait(demand: Demand, targets: Targets) -> float:
    """Tokens, for one engine."""
    if targets.waiting_tokens is not None:
        return targets.waiting_tokens
    does = demand.capacity_tokens_per_second * targets.wait_s or targets.unmeasured_tokens
    if _unproved(demand, targets):
        does = max(does, targets.unmeasured_tokens)
    return min(does, QUEUE_SHARE * demand.queue_tokens or math.inf)


def _by_rate(demand: Demand, targets: Targets) -> float:
    if not demand.capacity_tokens_per_second:
        return 0.0
    needed = demand.tokens_per_second / (demand.capacity_tokens_per_second * targets.utilization)
    return min(needed, demand.engines) if _unproved(demand, targets) and demand.engines else needed


def _unproved(demand: Demand, targets: Targets) -> bool:
    """Whether batches are too small to have shown what an engine can do.

    They grow before it is at its end: what comes while it works is the next batch. So until then no rate is a reason
    for more engines than there are; that all of them are busy is none.
    """
    small = SMALL_BATCH * min(demand.max_batch_tokens, FULL_BATCH)
    return targets.accelerated and 0 < demand.batch_tokens < small
