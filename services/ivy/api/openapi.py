"""Pieces of the OpenAPI document: how one operation is described. Knows no server and no surface."""

from http import HTTPStatus
from typing import Any

from ivy.errors import ApiError, ClientGone, leaves

REF = "#/components/schemas/{name}"
_EVERYWHERE = (400, 404, 405, 500)
_KEYED = (*_EVERYWHERE, 401)
_WORK_ERRORS = tuple(sorted({leaf.status for leaf in leaves()} - {ClientGone.status}))


def work(summary: str, body: str | tuple[str, ...], example: Any, answer: str | dict[str, Any]) -> dict[str, Any]:
    """The operation of a route that takes a body and works on it.

    Args:
        summary: what it does.
        body: the struct that it takes, or the structs of which it takes one.
        example: a body that works.
        answer: the struct that it gives, or the schema of what it gives where that is none.
    """
    structs = [{"$ref": REF.format(name=name)} for name in ((body,) if isinstance(body, str) else body)]
    schema = structs[0] if len(structs) == 1 else {"anyOf": structs}
    content = {"application/json": {"schema": schema, "example": example}}
    return {
        "summary": summary,
        "requestBody": {"required": True, "content": content},
        "responses": _responses(json_ref(answer) if isinstance(answer, str) else _json(answer), _WORK_ERRORS),
    }


def get(summary: str, content: dict[str, Any], errors: tuple[int, ...] = ()) -> dict[str, Any]:
    """The operation of a route that only tells, with more errors."""
    return {"summary": summary, "responses": _responses(content, (*_KEYED, *errors))}


def open_get(summary: str, content: dict[str, Any], errors: tuple[int, ...] = ()) -> dict[str, Any]:
    """The same, exempt from API keys, with more errors."""
    return {"summary": summary, "responses": _responses(content, (*_EVERYWHERE, *errors)), "security": []}


def json_ref(name: str) -> dict[str, Any]:
    """Content: the struct `name` as JSON."""
    return _json({"$ref": REF.format(name=name)})


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


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
