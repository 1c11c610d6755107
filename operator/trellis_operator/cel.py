"""The CEL rules of a structural schema (`x-kubernetes-validations`), as an API server evaluates them.

Never knows which kind of object it reads.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import celpy
import celpy.adapter

from trellis_operator.crd import Schema
from trellis_operator.schema import children, join


def broken_rules(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """The message of each rule that the value breaks, outer rules first. The value has its defaults."""
    for rule in schema.get("x-kubernetes-validations", []):
        if "oldSelf" in rule["rule"]:
            continue  # compares with what was there before: a manifest alone has no before
        if not _holds(rule["rule"], value):
            yield f"{path or 'the manifest'}: {rule['message']}"
    for key, inner, inner_schema in children(value, schema):
        if inner_schema:
            yield from broken_rules(inner, inner_schema, join(path, key))


def _holds(rule: str, value: Any) -> bool:
    return bool(_program(rule).evaluate({"self": celpy.adapter.json_to_cel(value)}))


@cache
def _program(rule: str) -> celpy.Runner:
    environment = celpy.Environment()
    return environment.program(environment.compile(rule))
