"""Structural schemas as an API server applies them: unknown fields, defaults, types and bounds.

Pure: values in, values and problems out. Never knows which kind of object it reads.
"""

import difflib
from collections.abc import Iterator
from typing import Any

import jsonschema
import re2

from trellis_operator.crd import Schema


def unknown_fields(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """Name each field that the schema does not have, with the nearest one that it has."""
    for key, inner, inner_schema in children(value, schema):
        where = join(path, key)
        if inner_schema is None:
            yield f"{where}: unknown field{_nearest(str(key), schema)}"
        else:
            yield from unknown_fields(inner, inner_schema, where)


def with_defaults(value: Any, schema: Schema) -> Any:
    """The value with the default of each absent field, outer ones first; the value given is not changed."""
    if isinstance(value, list):
        return [with_defaults(item, schema.get("items", {})) for item in value]
    if not isinstance(value, dict):
        return value
    properties = schema.get("properties", {})
    defaults = {key: field["default"] for key, field in properties.items() if "default" in field and key not in value}
    values_schema = schema.get("additionalProperties", {})
    return {key: with_defaults(inner, properties.get(key, values_schema)) for key, inner in (value | defaults).items()}


def pruned(value: Any, schema: Schema) -> Any:
    """The value without the fields that the schema does not know."""
    if isinstance(value, list):
        return [pruned(item, schema.get("items", {})) for item in value]
    if not isinstance(value, dict):
        return value
    known = ((key, inner, rules) for key, inner, rules in children(value, schema) if rules is not None)
    return {key: pruned(inner, rules) for key, inner, rules in known}


def shortened(value: Any, schema: Schema) -> Any:
    """The value with each string cut to what the schema lets it be; a cut one ends in an ellipsis."""
    if isinstance(value, str):
        most = schema.get("maxLength", len(value))
        return value if len(value) <= most else value[: most - 1] + "…"
    if isinstance(value, list):
        return [shortened(item, schema.get("items", {})) for item in value]
    if isinstance(value, dict):
        return {key: shortened(inner, rules or {}) for key, inner, rules in children(value, schema)}
    return value


def problems(value: Any, schema: Schema) -> list[str]:
    """What is wrong with types, bounds and required fields, a line each, in the order of the value's fields."""
    errors = _Validator(_json_schema(schema)).iter_errors(value)
    return [_line(error) for error in sorted(errors, key=lambda error: str(list(error.absolute_path)))]


def children(value: Any, schema: Schema) -> Iterator[tuple[str | int, Any, Schema | None]]:
    """The fields or items of a value with their schemas; None where the schema knows no such field."""
    if isinstance(value, list):
        yield from ((index, item, schema.get("items", {})) for index, item in enumerate(value))
    elif isinstance(value, dict):
        free: Schema | None = {} if schema.get("x-kubernetes-preserve-unknown-fields") or _is_any(schema) else None
        others = schema.get("additionalProperties", free)
        yield from ((key, inner, schema.get("properties", {}).get(key, others)) for key, inner in value.items())


def join(path: str, key: str | int) -> str:
    """A field's path, e.g. `spec.tolerations[0].key`."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    return f"{path}.{key}" if path else str(key)


def _is_any(schema: Schema) -> bool:
    """Whether a schema says nothing about fields: below preserved unknown fields, or a plain object."""
    return "properties" not in schema and "additionalProperties" not in schema


def _nearest(name: str, schema: Schema) -> str:
    known = list(schema.get("properties", {}))
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f", did you mean {near[0]}?" if near else f"; known here: {', '.join(known)}"


def _json_schema(schema: Schema) -> Schema:
    """The same schema as JSON Schema reads it: only integers or strings differ in spelling."""
    converted = {key: inner for key, inner in schema.items() if key != "default"}
    if schema.get("x-kubernetes-int-or-string"):
        converted["type"] = ["integer", "string"]
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            converted[key] = _json_schema(schema[key])
    if "properties" in schema:
        converted["properties"] = {key: _json_schema(inner) for key, inner in schema["properties"].items()}
    return converted


def _pattern(validator: Any, pattern: str, instance: Any, schema: Schema) -> Iterator[jsonschema.ValidationError]:
    """Match as the API server does: RE2, where `$` is the very end and not also before a last newline."""
    if isinstance(instance, str) and not re2.search(pattern, instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern}")


_Validator: Any = jsonschema.validators.extend(  # type: ignore[no-untyped-call]
    jsonschema.Draft202012Validator, {"pattern": _pattern}
)


def _line(error: Any) -> str:
    path = ""
    for key in error.absolute_path:
        path = join(path, key)
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return f"{join(path, missing)}: required"
    hint = " (write it in quotes)" if error.validator_value == "string" and error.validator == "type" else ""
    return f"{path or 'the manifest'}: {error.message}{hint}"
