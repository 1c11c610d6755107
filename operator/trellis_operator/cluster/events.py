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
from trellis_operator.status.condition import Condition, fitted

log = logging.getLogger(__name__)

_NOTE_CHARACTERS = 1000
_TOLD = ("Accepted", "SourceReady", "Progressing", "Degraded", "Ready")
"""The others are what these are judged from, and say the same."""
_HARMLESS = {"Suspended", "Starting", "Fetching", "Downloading", "Pulling", "Mounting"}
_MEND_STATUS = "install the CRD and the roles of the operator's version, or ask who runs what refuses it"
_OF_THE_CLUSTER = {"InternalError", "WebhookFailed", "WebhookDenied"}
"""Of refusals: nothing that came with Trellis can be why."""


class Events:
    """Posts events of one operator process."""

    def __init__(self, api: Api, instance: str) -> None:
        self._api, self._instance = api, instance

    async def tell(self, model: EmbeddingModel, done: Iterable[Action], said: Iterable[Condition]) -> None:
        """Tell what was done to a model and which of its conditions say something new."""
        actions = list(done)
        if actions:
            await self._post(model, "Normal", "Applied", summary(actions))
        for condition in worth_telling(said):
            kind = "Warning" if _is_bad(condition) and condition.reason not in _HARMLESS else "Normal"
            note = f"{condition.type} is {condition.status}: {condition.message}"
            await self._post(model, kind, condition.reason, note)

    async def tell_untold(self, model: EmbeddingModel, why: str, message: str, hint: str) -> bool:
        """Tell that a model's status is not taken, in the words of the API server; returns whether this was."""
        mend = hint if why in _OF_THE_CLUSTER else _MEND_STATUS
        note = f"the status is old, or absent, since it is not taken: {message.rstrip('. ')}. What to do: {mend}."
        return await self._post(model, "Warning", "StatusRefused", note)

    async def _post(self, model: EmbeddingModel, kind: str, reason: str, note: str) -> bool:
        now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        event: dict[str, Any] = {
            "apiVersion": EVENT.api_version,
            "kind": EVENT.name,
            "metadata": {"name": f"{model.name}.{uuid.uuid4().hex[:16]}", "namespace": model.namespace},
            # The older of the two kinds of events: kubectl describe sorts by its times.
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "source": {"component": FIELD_MANAGER},
            "reportingComponent": FIELD_MANAGER,
            "reportingInstance": self._instance[:128],
            "reason": reason[:128],
            "type": kind,
            "message": fitted(note, _NOTE_CHARACTERS),
            "involvedObject": {
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
            return False
        return True


def worth_telling(said: Iterable[Condition]) -> list[Condition]:
    """What a person would want to read: each cause once, and that nothing is wrong only by what works."""
    causes: set[tuple[str, str]] = set()
    told = []
    for condition in said:
        cause = (condition.reason, condition.message)
        if (
            condition.type in _TOLD
            and cause not in causes
            and (_is_bad(condition) or condition.type in _NEWS_WHEN_GOOD)
        ):
            told.append(condition)
        causes.add(cause)
    return told


_NEWS_WHEN_GOOD = {"Ready", "Progressing", "SourceReady"}


def _is_bad(condition: Condition) -> bool:
    return condition.holds if condition.type == "Degraded" else condition.status == "False"


def summary(actions: list[Action]) -> str:
    """What was done, in a line: what was made by kind, the rest by name."""
    made = [action.target[0] for action in actions if action.reason == "absent"]
    rest = [str(action) for action in actions if action.reason != "absent"]
    counted = ", ".join(f"{made.count(kind)} {kind}" for kind in dict.fromkeys(made))
    return "; ".join([*([f"made {counted}"] if made else []), *rest])
