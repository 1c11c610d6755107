"""A rollout comes to its end wherever two engines find room, and somebody serves all the while: proved on a model.

`Simulated` does what kube-controller-manager's Deployment controller does with a rolling update (scale up the new
ReplicaSet, clean up pods of old ones that are not available, scale those down), and what a scheduler and pods do. Who
moves next is drawn, so that nobody may rely on another's being quick.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st
from trellis_operator.plan.capacity import Room
from trellis_operator.plan.rollout import IN_PLACE, strategy
from trellis_operator.spec import EmbeddingModel
from trellis_operator.validate import validate

FULL = validate(yaml.safe_load((Path(__file__).parents[2] / "examples" / "full.yaml").read_text()))
MODEL = EmbeddingModel.from_body(FULL)
PENDING, STARTING, READY, LEAVING = range(4)


@dataclass
class Simulated:
    """Engines of an old and a new template on `slots` accelerators, of which no more than `replicas` are asked for."""

    replicas: int
    slots: int
    current: dict[str, Any] = field(default_factory=lambda: IN_PLACE)
    pods: list[list[int]] = field(default_factory=list)
    """Template, 0 or 1, and phase of each."""

    def __post_init__(self) -> None:
        self.pods = [[0, READY if place < self.slots else PENDING] for place in range(self.replicas)]

    def count(self, *phases: int, of: int | None = None) -> int:
        return sum(phase in phases and of in (None, template) for template, phase in self.pods)

    def asked(self, of: int | None = None) -> int:
        """What the ReplicaSets ask for: pods that leave are no more theirs."""
        return self.count(PENDING, STARTING, READY, of=of)

    def operator(self) -> None:
        """Look, and write the strategy."""
        status = {"observedGeneration": 1, "replicas": self.asked(), "updatedReplicas": self.asked(of=1)}
        spec = {"replicas": self.replicas, "strategy": self.current}
        seen = {"metadata": {"generation": 1}, "spec": spec, "status": status}
        begins = not self.asked(of=1)
        if begins:  # the template changes with this very write
            seen["status"] = status | {"updatedReplicas": self.asked()}
        held = self.count(STARTING, READY, LEAVING)
        model = replace(MODEL, engine=replace(MODEL.engine, replicas=self.replicas))
        self.current = strategy(model, seen, Room(self.slots - held, held), self.count(PENDING))

    def controller(self) -> None:
        """One sync of the Deployment."""
        rolling = self.current["rollingUpdate"]
        surge = math.ceil(self.replicas / 4) if rolling["maxSurge"] == "25%" else rolling["maxSurge"]
        more = min(self.replicas + surge - self.asked(), self.replicas - self.asked(of=1))
        if more > 0:
            self.pods += [[1, PENDING] for _ in range(more)]
            return
        least = self.replicas - rolling["maxUnavailable"]
        unavailable = self.count(PENDING, STARTING, of=1)
        most = self.asked() - least - unavailable
        for _ in range(min(most, self.count(PENDING, STARTING, of=0))):
            self._take(PENDING if self.count(PENDING, of=0) else STARTING)
        for _ in range(min(self.count(READY) - least, self.count(READY, of=0)) if most > 0 else 0):
            self._take(READY)

    def scheduler(self) -> None:
        """The oldest pod that waits gets an accelerator, if one is free."""
        if self.slots > self.count(STARTING, READY, LEAVING):
            self._move(PENDING, STARTING)

    def kubelet(self) -> None:
        """A pod gets ready."""
        self._move(STARTING, READY)

    def end(self) -> None:
        """A pod that leaves has gone."""
        if self.count(LEAVING):
            self.pods.remove([0, LEAVING])

    def _move(self, before: int, after: int) -> None:
        for pod in self.pods:
            if pod[1] == before:
                pod[1] = after
                return

    def _take(self, phase: int) -> None:
        """Delete a pod of the old template; one that is on no node is gone at once."""
        pod = next(each for each in self.pods if each == [0, phase])
        if phase == PENDING:
            self.pods.remove(pod)
        else:
            pod[1] = LEAVING


Step = Callable[[Simulated], None]
STEPS: list[Step] = [Simulated.operator, Simulated.controller, Simulated.scheduler, Simulated.kubelet, Simulated.end]


@given(
    replicas=st.integers(1, 6),
    slots=st.integers(0, 8),
    order=st.lists(st.sampled_from(STEPS), max_size=80),
)
def test_a_rollout_ends_wherever_two_engines_find_room_and_somebody_serves_all_the_while(
    replicas: int, slots: int, order: list[Step]
) -> None:
    simulated = Simulated(replicas, slots)
    simulated.operator()
    for step in [*order, *STEPS * 100]:
        step(simulated)
        assert simulated.count(READY) or not slots, simulated
    if slots != 1:
        assert not simulated.count(PENDING, STARTING, READY, LEAVING, of=0), simulated
        assert simulated.count(READY) == min(replicas, slots)
