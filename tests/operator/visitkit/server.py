"""An API server of a few lines, with one model, for visits to it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Body = dict[str, Any]
KEY = ("search", "all-minilm-l6-v2")
BUDGET = "poddisruptionbudgets/all-minilm-l6-v2-gateway"


@dataclass
class Server:
    """Keeps what is applied. `webhook` may change an object before it is kept."""

    model: Body
    webhook: Callable[[str, Body], None] = lambda target, body: None
    objects: dict[str, Body] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)
    gone: bool = False
    status_refusal: int | None = None
    """The code that it refuses a status with."""
    status_words: str = 'failed calling webhook "w": EOF'
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    """The code and the words that it refuses an object with."""
    events: list[Body] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        target = request.path.partition("/namespaces/search/")[2]
        if target.startswith("embeddingmodels/"):
            return await self._of_model(request)
        if request.method == "GET":
            there = self.objects.get(target)
            return web.json_response(there or {}, status=200 if there else 404)
        if target in self.refused:
            code, message = self.refused[target]
            return web.json_response({"message": message}, status=code)
        body = await request.json()
        if target == "events":
            self.events.append(body)
        if request.method == "PATCH":
            self.writes.append(target)
            body["metadata"] |= {"uid": target, "resourceVersion": str(len(self.writes))}
            self.webhook(target, body)
            self.objects[target] = body
        return web.json_response(body)

    async def _of_model(self, request: web.Request) -> web.Response:
        if self.gone:
            return web.json_response({}, status=404)
        if request.method == "PATCH" and self.status_refusal:
            return web.json_response({"message": self.status_words}, status=self.status_refusal)
        if request.method == "PATCH":
            changes = await request.json()
            self.model["status"] = self.model.get("status", {}) | changes["status"]
            self.model["metadata"]["resourceVersion"] += "0"
        return web.json_response(self.model)

    def untold(self) -> list[str]:
        """The notes of events about its own status."""
        return [each["message"] for each in self.events if each["reason"] == "StatusRefused"]

    def condition(self, kind: str) -> tuple[str, str, str]:
        conditions = {each["type"]: each for each in self.model["status"]["conditions"]}
        return tuple(conditions[kind][part] for part in ("status", "reason", "message"))  # type: ignore[return-value]

    def degraded(self) -> tuple[str, str, str]:
        return self.condition("Degraded")


@dataclass
class Unseen:
    """Kinds of which the API server does not tell."""

    kinds: list[str] = field(default_factory=list)
