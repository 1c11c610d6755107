"""The HTTPRoute: how a Gateway API gateway reaches the model from outside. Only where a manifest asks for it.

Every default of the Gateway API is said: what is there can be compared with what is asked for to the last field.
"""

from collections.abc import Mapping
from typing import Any

from trellis_operator.desired import names
from trellis_operator.desired.child import Object, child
from trellis_operator.kinds import HTTP_ROUTE
from trellis_operator.spec import EmbeddingModel

_PARENT = {"group": "gateway.networking.k8s.io", "kind": "Gateway"}
_EVERY_PATH = {"path": {"type": "PathPrefix", "value": "/"}}


def http_route(model: EmbeddingModel, asked: Mapping[str, Any]) -> Object:
    """All paths to the gateways' Service."""
    return child(
        HTTP_ROUTE,
        model,
        model.name,
        names.GATEWAY,
        spec={
            "parentRefs": [_PARENT | dict(parent) for parent in asked["parentRefs"]],
            # Always said: a field that is not applied any more would stay as it was.
            "hostnames": list(asked.get("hostnames") or []),
            "rules": [{"matches": [_EVERY_PATH], "backendRefs": [_backend(names.service(model))]}],
        },
    )


def _backend(service: str) -> Object:
    return {"group": "", "kind": "Service", "name": service, "port": 80, "weight": 1}
