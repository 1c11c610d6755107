"""The OpenAPI description of every route, made from the structs that validate. Knows no server."""

from http import HTTPStatus
from typing import Any

import msgspec

from ivy.api import types
from ivy.errors import ApiError, ClientGone, leaves

_REF = "#/components/schemas/{name}"
_STRUCTS = (
    types.EmbeddingsBody,
    types.EmbeddingsAnswer,
    types.ModelList,
    types.Model,
    types.ErrorAnswer,
    types.State,
)
_EVERYWHERE = (400, 404, 405, 500)
_EMBEDDINGS_ERRORS = tuple(sorted({leaf.status for leaf in leaves()} - {ClientGone.status}))


def document(version: str, *, with_keys: bool) -> dict[str, Any]:
    """The whole document.

    Args:
        version: of Trellis.
        with_keys: whether callers need an API key.
    """
    _, components = msgspec.json.schema_components(_STRUCTS, ref_template=_REF)
    components["EmbeddingsBody"]["properties"]["input"]["anyOf"] = types.INPUT_FORMS
    described: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Trellis",
            "version": version,
            "description": "Embeddings over HTTP, as OpenAI's clients speak it.",
        },
        "paths": _paths(),
        "components": {"schemas": components, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
    }
    if with_keys:
        described["security"] = [{"key": []}]
    return described


def _paths() -> dict[str, Any]:
    unauthorized = (401,)
    return {
        "/v1/embeddings": {"post": _embeddings()},
        "/v1/models": {"get": _get("List the served names.", _json("ModelList"), unauthorized)},
        "/v1/models/{id}": {"get": _model()},
        "/healthz": {"get": _open(_get("Say that the process lives.", _json("State")))},
        "/readyz": {"get": _open(_get("Say whether an engine is ready.", _json("State"), (503,)))},
        "/metrics": {"get": _open(_get("Metrics, in Prometheus text.", _text("text/plain")))},
        "/docs": {"get": _get("These routes, as a page.", _text("text/html"), unauthorized)},
        "/openapi.json": {
            "get": _get("This document.", {"application/json": {"schema": {"type": "object"}}}, unauthorized)
        },
    }


def _embeddings() -> dict[str, Any]:
    body = {"application/json": {"schema": {"$ref": _REF.format(name="EmbeddingsBody")}, "example": types.EXAMPLE}}
    return {
        "summary": "Embed texts.",
        "requestBody": {"required": True, "content": body},
        "responses": _responses(_json("EmbeddingsAnswer"), _EMBEDDINGS_ERRORS),
    }


def _model() -> dict[str, Any]:
    parameter = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    return {**_get("Describe one served name.", _json("Model"), (401,)), "parameters": [parameter]}


def _get(summary: str, content: dict[str, Any], errors: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"summary": summary, "responses": _responses(content, (*_EVERYWHERE, *errors))}


def _open(operation: dict[str, Any]) -> dict[str, Any]:
    """Exempt from API keys."""
    return {**operation, "security": []}


def _responses(content: dict[str, Any], errors: tuple[int, ...]) -> dict[str, Any]:
    answers: dict[str, Any] = {"200": {"description": "As asked.", "content": content}}
    for status in sorted(set(errors)):
        answers[str(status)] = {"description": _meaning(status), "content": _json("ErrorAnswer")}
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


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _REF.format(name=name)}}}


def _text(kind: str) -> dict[str, Any]:
    return {kind: {"schema": {"type": "string"}}}
