"""The HTTPRoute: how a Gateway API gateway reaches the model from outside. Only where a manifest asks for it."""

from collections.abc import Mapping
from typing import Any

from trellis_operator.desired import names
from trellis_operator.desired.child import Object, child
from trellis_operator.kinds import HTTP_ROUTE
from trellis_operator.spec import EmbeddingModel


def http_route(model: EmbeddingModel, asked: Mapping[str, Any]) -> Object:
    """All paths to the gateways' Service."""
    return child(
        HTTP_ROUTE,
        model,
        model.name,
        names.GATEWAY,
        spec={
            "parentRefs": [dict(parent) for parent in asked["parentRefs"]],
            # Always said: a field that is not applied any more would stay as it was.
            "hostnames": list(asked.get("hostnames") or []),
            "rules": [{"backendRefs": [{"name": names.service(model), "port": 80}]}],
        },
    )
