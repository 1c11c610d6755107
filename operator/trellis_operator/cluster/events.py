"""Events for people: `kubectl describe` tells what happened to a model, and when."""

import datetime
import logging
import uuid
from collections.abc import Iterable
from typing import Any

from trellis_operator.cluster.api import FIELD_MANAGER, Api
from trellis_operator.cluster.errors import AwayError, RefusedError
from trellis_operator.kinds import EMBEDDING_MODEL, EVENT
from trellis_operator.plan.plan import Action
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.condition import Condition

log = logging.getLogger(__name__)

_NOTE_CHARACTERS = 1000
_GOOD_WHEN_FALSE = {"Degraded"}
_QUIET = {"GraphsWarmed"}


class Events:
    """Posts events of one operator process."""

    def __init__(self, api: Api, instance: str) -> None:
        self._api, self._instance = api, instance

    async def tell(self, model: EmbeddingModel, done: Iterable[Action], said: Iterable[Condition]) -> None:
        """Tell what was done to a model and which of its conditions say something new."""
        actions = list(done)
        if actions:
            await self._post(model, "Normal", "Applied", "Apply", _summary(actions))
        for condition in said:
            if condition.type not in _QUIET:
                bad = condition.holds if condition.type in _GOOD_WHEN_FALSE else condition.status == "False"
                kind = "Warning" if bad and condition.reason not in ("Suspended", "Starting") else "Normal"
                note = f"{condition.type} is {condition.status}: {condition.message}"
                await self._post(model, kind, condition.reason, "Observe", note)

    async def _post(self, model: EmbeddingModel, kind: str, reason: str, action: str, note: str) -> None:
        event: dict[str, Any] = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.name,
            "metadata": {"name": f"{model.name}.{uuid.uuid4().hex[:16]}", "namespace": model.namespace},
            "eventTime": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "reportingController": FIELD_MANAGER,
            "reportingInstance": self._instance[:128],
            "action": action,
            "reason": reason[:128],
            "type": kind,
            "note": note[:_NOTE_CHARACTERS],
            "regarding": {
                "apiVersion": EMBEDDING_MODEL.api_version,
                "kind": EMBEDDING_MODEL.name,
                "namespace": model.namespace,
                "name": model.name,
                "uid": model.uid,
            },
        }
        try:
            await self._api.create(EVENT.path(model.namespace), event)
        except (RefusedError, AwayError) as error:
            # The status says the same; a namespace that is being deleted takes no events.
            log.info("%s/%s: an event was not taken: %s", model.namespace, model.name, error)


def _summary(actions: list[Action]) -> str:
    return "; ".join(str(action) for action in actions)
