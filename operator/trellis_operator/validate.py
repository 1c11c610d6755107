"""A manifest's body against the CRD: what an API server would say, with its defaults filled in.

Pure. Never knows where the body came from.
"""

from typing import Any

from trellis_operator import cel, crd, schema
from trellis_operator.errors import ManifestError


def validate(body: Any) -> dict[str, Any]:
    """Check a body and fill in the defaults.

    Args:
        body: a manifest as YAML or JSON gave it.

    Returns:
        A new body with the default of each absent field.

    Raises:
        ManifestError: it is not a valid EmbeddingModel; one line a problem.
    """
    if not isinstance(body, dict):
        raise ManifestError(f"not an {crd.kind()}: the document is not a mapping")
    for field, wanted in (("apiVersion", crd.api_version()), ("kind", crd.kind())):
        if body.get(field) != wanted:
            raise ManifestError(f"{field}: must be {wanted}, not {body.get(field)!r}")
    rules = _rules()
    _refuse(list(schema.unknown_fields(body, rules)))
    filled: dict[str, Any] = schema.with_defaults(body, rules)
    _refuse(schema.problems(filled, rules))
    _refuse(list(cel.broken_rules(filled, rules)))
    return filled


def _rules() -> crd.Schema:
    """The CRD's schema, where metadata may have what the API server itself knows of it, and needs a name."""
    rules = crd.schema()
    metadata = rules["properties"]["metadata"] | {"required": ["name"], "x-kubernetes-preserve-unknown-fields": True}
    return rules | {"properties": rules["properties"] | {"metadata": metadata}}


def _refuse(problems: list[str]) -> None:
    if problems:
        raise ManifestError("\n".join(problems))
