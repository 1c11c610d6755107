"""What a person asked of pods, apart from how an operator builds them.

Pods are made anew only when this changes. It holds the parts of a spec that pods depend on, hashes of the Secrets that
they read, and the restart annotation. It holds no image, no flag and no default of the operator, so another operator
version asks for the same. Two intents are compared with the defaults of one schema filled in on both sides, so that a
field that a newer CRD adds changes nothing by itself.
"""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from trellis_operator import crd, schema
from trellis_operator.desired import names
from trellis_operator.digest import engine_part
from trellis_operator.spec import EmbeddingModel

Intent = dict[str, Any]

_APART = {"engine": ("replicas", "autoscaling", "rollout"), "gateway": ("replicas", "expose"), "cache": ()}
"""Fields of each section that reach pods in another way than by their template, or not at all."""


def engine_intent(model: EmbeddingModel) -> Intent:
    """What engine pods depend on."""
    # Which requests are traced is the gateways' decision: engines do not roll for another share of them.
    tracing = {"tracing": {"endpoint": model.tracing.endpoint}} if model.tracing else {}
    read = engine_part(model.embedding)
    return {
        **_common(model),
        # Only where it is less: an operator that counted prompts among what engines read made the same of all others.
        **({"read": names.short_hash(read)} if read != model.embedding else {}),
        **tracing,
        "engine": model.spec["engine"],
        "scheduling": names.short_hash(model.scheduling),
    }


def gateway_intent(model: EmbeddingModel, secrets: Mapping[str, str]) -> Intent:
    """What gateway pods depend on.

    Args:
        model: whose.
        secrets: hashes of contents by name of the Secret; one that does not exist is absent.
    """
    keys = model.gateway.api_keys_secret
    tracing = {"tracing": model.spec["monitoring"]["tracing"]} if model.tracing else {}
    return {
        **_common(model),
        **tracing,
        "gateway": model.spec["gateway"],
        "drain": model.spec["engine"]["drain"],
        "secrets": {keys: secrets.get(keys)} if keys else {},
        # Only where it is so: an operator that did not know of it made the same of all others.
        **({"wakes": True} if model.engine.wakes else {}),
    }


def written(intent: Intent) -> str:
    """An intent as an annotation keeps it."""
    return json.dumps(_normal(intent), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def same(before: str, now: Intent) -> bool:
    """Whether pods that were made for `before`, an annotation, are those that are asked for now.

    A Secret that is missing now counts as unchanged: pods that have it go on, new ones could not start.
    """
    try:
        old = _normal(json.loads(before))
    except (ValueError, TypeError, AttributeError):
        return False  # edited by hand: made anew, and written anew
    new = _normal(now)
    known = old.get("secrets", {})
    secrets = {name: digest or known.get(name) for name, digest in new.get("secrets", {}).items()}
    return _agreed(old, new) == (new | {"secrets": secrets} if "secrets" in new else new)


def same_vectors(before: str, now: Intent) -> bool:
    """Whether pods made for `before`, an annotation, turn texts into the vectors that are asked for now."""
    try:
        new = _normal(now)
        old = _agreed(_normal(json.loads(before)), new)
        return all(old[part] == new[part] for part in ("model", "embedding"))
    except (ValueError, TypeError, AttributeError, KeyError):
        return False


def _agreed(old: Intent, new: Intent) -> Intent:
    """`old`, with the words of `new` for `spec.embedding` where both ask the same of whom they are for.

    `embedding` stands for all of it, `read` for what engines read of it, where that is less.
    """
    parts = ("embedding", "read")
    if {old.get(part) for part in parts}.isdisjoint({new.get(part) for part in parts} - {None}):
        return old
    said = {part: new[part] for part in parts if part in new}
    return {key: value for key, value in old.items() if key not in parts} | said


def _common(model: EmbeddingModel) -> Intent:
    return {
        "model": model.spec["model"],
        "embedding": names.short_hash(model.embedding),
        "cache": {} if names.is_downloaded(model) else {"download": model.spec["cache"]["download"]},
        "claimed": names.is_downloaded(model),
        "restart": model.restart,
    }


def _normal(intent: Intent) -> Intent:
    """Without what this schema does not know, with the defaults that it has."""
    sections = {name: _section(name, value) for name, value in intent.items() if name in ("model", *_APART)}
    return intent | sections


def _section(name: str, value: Any) -> Any:
    rules = _spec_schema()["properties"][name]
    filled = schema.with_defaults(schema.pruned(value, rules), rules)
    return {key: inner for key, inner in filled.items() if key not in _APART.get(name, ())}


@cache
def _spec_schema() -> crd.Schema:
    found: crd.Schema = crd.schema()["properties"]["spec"]
    return found
