"""Pieces of the OpenAPI document: how one operation is described. Knows no server and no surface."""

from http import HTTPStatus
from typing import Any

from ivy.errors import ApiError, ClientGone, leaves

REF = "#/components/schemas/{name}"
_EVERYWHERE = (400, 404, 405, 500)
_KEYED = (*_EVERYWHERE, 401)
_WORK_ERRORS = tuple(sorted({leaf.status for leaf in leaves()} - {ClientGone.status}))


def work(summary: str, body: str, example: Any, answer: str) -> dict[str, Any]:
    """The operation of a route that engines work for: it takes the struct `body` and gives the struct `answer`."""
    content = {"application/json": {"schema": {"$ref": REF.format(name=body)}, "example": example}}
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": content},
        "responses": _responses(json_ref(answer), _WORK_ERRORS),
    }


def get(summary: str, content: dict[str, Any]) -> dict[str, Any]:
    """The operation of a route that only tells."""
    return {"summary": summary, "responses": _responses(content, _KEYED)}


def open_get(summary: str, content: dict[str, Any], errors: tuple[int, ...] = ()) -> dict[str, Any]:
    """The same, exempt from API keys, with more errors."""
    return {"summary": summary, "responses": _responses(content, (*_EVERYWHERE, *errors)), "security": []}


def json_ref(name: str) -> dict[str, Any]:
    """Content: the struct `name` as JSON."""
    return {"application/json": {"schema": {"$ref": REF.format(name=name)}}}


def text(kind: str) -> dict[str, Any]:
    """Content: text of a media type."""
    return {kind: {"schema": {"type": "string"}}}


def _responses(content: dict[str, Any], errors: tuple[int, ...]) -> dict[str, Any]:
    answers: dict[str, Any] = {"200": {"description": "As asked.", "content": content}}
    for status in sorted(set(errors)):
        answers[str(status)] = {"description": _meaning(status), "content": json_ref("ErrorAnswer")}
        if status in (429, 503):
            answers[str(status)]["headers"] = {
                "retry-after": {"description": "Seconds until a retry is worth it.", "schema": {"type": "integer"}},
                "retry-after-ms": {"description": "The same in milliseconds.", "schema": {"type": "integer"}},
            }
    return answers


def _meaning(status: int) -> str:
    """The first line of every error with this status, from the tree itself."""
    found = [leaf.__doc__ or "" for leaf in leaves(ApiError) if leaf.status == status]
    return " ".join(line.splitlines()[0] for line in found) or HTTPStatus(status).phrase
