"""One visit to one model: look, decide, do, tell. A visit to a model that is as it should be writes nothing.

The decisions are `desired`, `plan` and `status`; this file only carries values between them and the API server.
"""

import dataclasses
import datetime
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from trellis_operator.cluster.api import Api
from trellis_operator.cluster.capacity import Capacity
from trellis_operator.cluster.engines import warmth_of
from trellis_operator.cluster.errors import AwayError, RefusedError
from trellis_operator.cluster.events import Events
from trellis_operator.cluster.executor import Executor
from trellis_operator.cluster.memory import Memory
from trellis_operator.cluster.models import Models
from trellis_operator.cluster.secrets import Secrets, read_secrets
from trellis_operator.cluster.store import Key, Store
from trellis_operator.desired import names
from trellis_operator.desired.all import desired, missing_kinds, secret_names
from trellis_operator.desired.child import Object
from trellis_operator.desired.model_volume import source_lacks
from trellis_operator.desired.scaler import scaler_lacks
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.kinds import DEPLOYMENT, EMBEDDING_MODEL
from trellis_operator.plan import rollout
from trellis_operator.plan.hold import digest_in_force, hold
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.plan import Action, Plan, plan
from trellis_operator.plan.rewritten import left_alone, told
from trellis_operator.plan.warmth import Warmth
from trellis_operator.source import UnknownSource
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.condition import Condition, changed
from trellis_operator.status.refusal import explained
from trellis_operator.status.status import conditions, status, with_removals
from trellis_operator.status.view import View, is_true, view

log = logging.getLogger(__name__)

CONVERGED, CHANGED, REFUSED, GONE, STALE = "converged", "changed", "refused", "gone", "stale"

_WARMING_S = 5.0
"""Between two looks at engines that warm up."""
_UNTOLD_S = 15.0
"""Until a status that was refused is written again."""
_TOLD_AGAIN_S = 1800.0
"""Between two events about a status that is refused for the same reason."""
_PASSING = (404, 409)
"""Of a status that is refused for a model that is gone, or was changed at the same moment: nobody need hear of it."""
_SURE_S = 600.0
"""For so long a model that needs nothing is taken to be there because no watch told that it is gone."""


@dataclasses.dataclass
class Visitor:
    """Visits models.

    Attributes:
        setting: of a namespace; asked at each visit, since the kinds that an API server has for us may change.
        unseen: the kinds of which the API server does not tell at present, so that what is known of them may be old.
    """

    api: Api
    store: Store
    models: Models
    setting: Callable[[str], ClusterSetting]
    unseen: Callable[[], Sequence[str]]
    capacity: Capacity
    executor: Executor
    events: Events
    memories: dict[Key, Memory] = dataclasses.field(default_factory=dict)

    async def visit(self, key: Key) -> str:
        """Bring a model and its status to what they should be, as far as can be; returns the outcome.

        Raises:
            AwayError, FencedError: see `errors`; the visit is to be repeated.
        """
        body = self.models.get(key)
        if body is None or "deletionTimestamp" in body["metadata"]:
            self.memories.pop(key, None)
            return GONE
        memory = self.memories.setdefault(key, Memory())
        model = memory.model(body)
        secrets = await read_secrets(self.api, key[0], secret_names(model))
        observed = self.store.observed(key, model.uid)
        model = dataclasses.replace(model, engine_digest=digest_in_force(model, observed))
        known = left_alone(memory.rewritten, time.monotonic())
        wanted = await self._wanted(model, observed, secrets.hashes)
        # What is not understood is left as it is, whoever made it.
        todo = Plan() if isinstance(model.model.source, UnknownSource) else plan(wanted, observed, known)
        memory.keep_rewritten(todo)
        unsure = time.monotonic() - memory.sure_at > _SURE_S
        if (todo or unsure) and not await self._is_current(key, body, memory):
            return STALE
        done = await self.executor.carry_out(todo, key, model.uid, memory)
        warmth = await self._warmth(key, model, memory)
        seen = self._view(model, secrets, memory, todo.targets, warmth)
        written = await self._tell(model, seen, memory, body, done)
        if seen.refusals or memory.untold:
            return REFUSED
        return CHANGED if done or written else self._converged()

    def _converged(self) -> str:
        """The outcome of a visit that found nothing to do; only what is seen can be as it should be.

        Raises:
            AwayError: something is not seen.
        """
        unseen = self.unseen()
        if unseen:
            raise AwayError(f"the API server does not tell of {', '.join(unseen)}")
        return CONVERGED

    def next_try_s(self, key: Key) -> float | None:
        """Seconds until something that is held back in a model may be tried again, or its warm-up is further."""
        memory = self.memories.get(key)
        if memory is None:
            return None
        held_s = memory.patience.next_try(time.monotonic())
        due = ((_WARMING_S, memory.warming), (_UNTOLD_S, memory.untold))
        waits = [each for each in (held_s, *(wait_s for wait_s, waits in due if waits)) if each is not None]
        return min(waits, default=None)

    async def _warmth(self, key: Key, model: EmbeddingModel, memory: Memory) -> tuple[Warmth, ...]:
        """What engines tell of themselves, where it is not known; no event tells when a warm-up is further."""
        memory.warming = False
        if not model.is_asked:
            return ()
        pods = self.store.observed(key, model.uid).pods_of(names.ENGINE)
        told = await warmth_of(pods)
        if model.engine.with_graphs:
            starting = any(not (pod.ready or pod.unschedulable or pod.trouble) for pod in pods)
            memory.warming = starting or not all(each.done for each in told)
        return told

    async def _wanted(self, model: EmbeddingModel, observed: Observed, secrets: Mapping[str, str]) -> list[Object]:
        setting = self.setting(model.namespace)
        waits = source_lacks(model, setting) is not None or not _is_downloaded(model, observed, secrets)
        wanted = hold(desired(model, setting, secrets, observed.folders_read), observed, waits)
        return [await self._with_strategy(model, each, observed) for each in wanted]

    async def _with_strategy(self, model: EmbeddingModel, each: Object, observed: Observed) -> Object:
        if (each["kind"], each["metadata"]["name"]) != (DEPLOYMENT.name, names.engine(model)):
            return each
        seen = observed.get(DEPLOYMENT, names.engine(model))
        room, waiting = None, 0
        if rollout.rolls(model, each, seen):
            waiting = sum(pod.waits_for_room for pod in observed.pods_of(names.ENGINE))
            room = await self.capacity.room(model) if model.engine.accelerated else None
        return each | {"spec": each["spec"] | {"strategy": rollout.strategy(model, seen, room, waiting)}}

    async def _is_current(self, key: Key, body: Object, memory: Memory) -> bool:
        """Whether the model is still what we took it for: what a watch told may be old, or the model gone."""
        now = await self.api.get(EMBEDDING_MODEL.path(*key))
        if now is None:
            self.models.drop(key)
            return False
        self.models.put(now)
        memory.sure_at = time.monotonic()
        same = all(now["metadata"].get(field) == body["metadata"].get(field) for field in ("uid", "generation"))
        return same and "deletionTimestamp" not in now["metadata"]

    def _view(
        self,
        model: EmbeddingModel,
        secrets: Secrets,
        memory: Memory,
        open_targets: set[Any],
        warmth: tuple[Warmth, ...],
    ) -> View:
        setting = self.setting(model.namespace)
        return view(
            model,
            self.store.observed((model.namespace, model.name), model.uid),
            secrets.hashes,
            refusals=[*secrets.refusals, *memory.patience.refusals(open_targets)],
            missing_secrets=[name for name in secret_names(model) if name not in secrets.hashes],
            missing_kinds=missing_kinds(model, setting),
            source_lacks=source_lacks(model, setting),
            scaler_lacks=scaler_lacks(model, setting),
            contested=memory.patience.contested(time.monotonic()),
            rewritten=[told(*each) for each in sorted(memory.rewritten.items())],
            warmth=warmth,
        )

    async def _tell(self, model: EmbeddingModel, seen: View, memory: Memory, body: Object, done: list[Action]) -> bool:
        """Write the status where it differs, and post events; returns whether it was written."""
        body = self.models.get((model.namespace, model.name)) or body
        before = body.get("status", {})
        said = conditions(seen)
        wanted = status(seen, said, before, _now())
        news: list[Condition] = []
        # A CRD of another version may keep a status otherwise than it was written: that is no difference.
        memory.untold = False
        settled = wanted == memory.status_said and before == memory.status_seen
        written = wanted != before and not settled and await self._write_status(model, wanted, before, memory)
        if written:
            news = changed(said, before.get("conditions", []))
        await self.events.tell(model, done, news)
        return written

    async def _write_status(self, model: EmbeddingModel, wanted: Object, before: Object, memory: Memory) -> bool:
        """Merged and not applied: an older CRD drops fields that it does not know, where an apply would be refused."""
        # With its uid: the status of a model is not for another one of that name.
        body = {"metadata": {"uid": model.uid}, "status": with_removals(wanted, before)}
        try:
            now = await self.api.merge(EMBEDDING_MODEL.path(model.namespace, model.name, "status"), body)
        except RefusedError as error:
            log.warning("%s/%s: its status was not taken: %s", model.namespace, model.name, error)
            memory.untold = not error.is_of(404)  # a model that is gone has none
            if not error.is_of(*_PASSING):
                await self._tell_untold(model, error, memory)
            return False
        self.models.put(now)
        memory.status_said, memory.status_seen = wanted, now.get("status", {})
        return True

    async def _tell_untold(self, model: EmbeddingModel, error: RefusedError, memory: Memory) -> None:
        """By an event, which is all that a person gets to see then: now and then for each reason."""
        reason, hint = explained(error.code, error.message)
        due_at = memory.untold_at.get(reason, -math.inf) + _TOLD_AGAIN_S
        if time.monotonic() >= due_at and await self.events.tell_untold(model, reason, error.message, hint):
            memory.untold_at[reason] = time.monotonic()


def _is_downloaded(model: EmbeddingModel, observed: Observed, secrets: Mapping[str, str]) -> bool:
    """Whether pods would find the weights."""
    job = view(model, observed, dict(secrets))
    return job.job_name is None or is_true(job.job, "Complete")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
