"""The OpenAPI document of all surfaces, made from the structs that validate. Knows no server."""

from collections.abc import Collection, Mapping
from copy import deepcopy
from typing import Any

import msgspec

from ivy.api.openapi import REF
from ivy.surfaces.route import Surface


def document(surfaces: Collection[Surface], version: str, model: str, *, with_keys: bool) -> dict[str, Any]:
    """The whole document.

    Args:
        surfaces: whose routes and structs are described, in this order.
        version: of Trellis.
        model: the name that examples ask for.
        with_keys: whether callers need an API key.
    """
    described: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "Trellis",
            "version": version,
            "description": "Embeddings and scores over HTTP, as the usual clients speak it.",
        },
        "paths": _paths(surfaces, model),
        "components": {
            "schemas": _schemas(surfaces),
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }
    if with_keys:
        described["security"] = [{"key": []}]
    return described


def _paths(surfaces: Collection[Surface], model: str) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for surface in surfaces:
        for route in surface.routes:
            paths.setdefault(route.path, {})[route.method.lower()] = _asking(route.operation, model)
    return paths


def _asking(operation: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The operation, whose example asks for a model that is served."""
    made = deepcopy(dict(operation))
    for content in made.get("requestBody", {}).get("content", {}).values():
        if "model" in content["example"]:
            content["example"]["model"] = model
    return made


def _schemas(surfaces: Collection[Surface]) -> dict[str, Any]:
    structs = tuple(dict.fromkeys(struct for surface in surfaces for struct in surface.structs))
    _, components = msgspec.json.schema_components(structs, ref_template=REF)
    for surface in surfaces:
        for (struct, field), forms in surface.forms.items():
            value = components[struct]["properties"][field]
            components[struct]["properties"][field] = {"description": value["description"], "anyOf": forms}
    return components
