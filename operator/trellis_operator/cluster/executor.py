"""Carries out a plan: one write an action, and what the API server did not take as values.

An object that is not known to be there is looked up before the first apply: apply by force would take over one of that
name that belongs to someone else, and our deletion would take it along. For the same reason a Job waits for its claim.
"""

import logging
import time
from typing import Any

from trellis_operator.cluster.api import FIELD_MANAGER, Api
from trellis_operator.cluster.errors import RefusedError
from trellis_operator.cluster.memory import Memory
from trellis_operator.cluster.metrics import Metrics
from trellis_operator.cluster.store import Key, Store, owned_by
from trellis_operator.kinds import BY_NAME
from trellis_operator.plan.drift import difference
from trellis_operator.plan.managers import managers
from trellis_operator.plan.plan import DELETE, Action, Plan, fingerprint
from trellis_operator.plan.rewritten import Rewritten
from trellis_operator.status.refusal import Refusal, name_taken, refusal

Object = dict[str, Any]
log = logging.getLogger(__name__)


class Executor:
    """Writes children."""

    def __init__(self, api: Api, store: Store, metrics: Metrics) -> None:
        self._api, self._store, self._metrics = api, store, metrics

    async def carry_out(self, plan: Plan, key: Key, uid: str, memory: Memory) -> list[Action]:
        """Do what patience allows now; returns what was done.

        Raises:
            AwayError: the API server is away; the rest is done at the next visit.
            FencedError: this process may not write any more.
        """
        done: list[Action] = []
        for action in plan.actions:
            now = time.monotonic()
            missing = plan.claims_to_make - {each.target for each in done}
            if action.claims & missing or not memory.patience.allows(action, now):
                continue
            self._metrics.action(action.target[0], action.verb)
            writer = await self._other_writer(action, key) if memory.patience.contests(action, now) else ""
            refused = await self._write(action, key, uid, memory)
            memory.patience.tried(action, now, refused, writer)
            level = logging.INFO if refused is None else logging.WARNING
            log.log(level, "%s/%s: %s%s", *key, action, f"; {refused.message}" if refused else "")
            if refused is None:
                done.append(action)
        return done

    async def _write(self, action: Action, key: Key, uid: str, memory: Memory) -> Refusal | None:
        kind = BY_NAME[action.target[0]]
        path = kind.path(key[0], action.target[1])
        try:
            if action.verb == DELETE:
                await self._api.delete(path, action.uid)
                return None
            if action.reason == "absent" and (taken := await self._taken(path, action, uid)):
                return taken
            seen = await self._api.apply(path, action.body)
        except RefusedError as error:
            return refusal(action.target, error.code, error.message)
        self._store.put(kind, seen)
        self._compare(action, seen, memory)
        return None

    @staticmethod
    def _compare(action: Action, seen: Object, memory: Memory) -> None:
        """Remember where an object is not what was applied a moment ago."""
        memory.rewritten.pop(action.target, None)
        path = difference(action.body, seen)
        if path is not None:
            others = [each for each in managers(seen, path) if each != FIELD_MANAGER]
            what = Rewritten(fingerprint(action.body, seen), path, others, time.monotonic())
            memory.rewritten[action.target] = what

    async def _other_writer(self, action: Action, key: Key) -> str:
        """Who else writes the field that differs; one more read, where a fight is on."""
        try:
            there = await self._api.get(BY_NAME[action.target[0]].path(key[0], action.target[1]))
        except RefusedError:
            return ""
        path = difference(action.body, there) if there else None
        found = managers(there, path) if there and path else []
        return ", ".join(each for each in found if each != FIELD_MANAGER)

    async def _taken(self, path: str, action: Action, uid: str) -> Refusal | None:
        there = await self._api.get(path)
        return None if there is None or owned_by(there, uid) else name_taken(action.target)
