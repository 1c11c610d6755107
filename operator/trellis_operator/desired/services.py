"""The two Services: engines by their addresses for gateways, gateways under one name for clients."""

from trellis_operator.desired import names
from trellis_operator.desired.child import Object, child
from trellis_operator.kinds import SERVICE
from trellis_operator.spec import EmbeddingModel

ANNOTATIONS = "trellis.dev/annotations"
"""Names of the annotations that the manifest asks for, with a space between two."""


def engines_service(model: EmbeddingModel) -> Object:
    """Headless: its EndpointSlices are what gateways watch, and nothing balances beside them."""
    return child(
        SERVICE,
        model,
        names.engines_service(model),
        names.ENGINE,
        spec={
            "clusterIP": "None",
            "selector": names.selector(model, names.ENGINE),
            "publishNotReadyAddresses": False,
            "ports": [_port("grpc", names.GRPC_PORT, "grpc") | {"appProtocol": "grpc"}],
        },
    )


def gateway_service(model: EmbeddingModel) -> Object:
    """What clients call."""
    return child(
        SERVICE,
        model,
        names.service(model),
        names.GATEWAY,
        annotations=_annotations(model),
        spec={
            "type": model.gateway.service_type,
            "selector": names.selector(model, names.GATEWAY),
            "ports": [_port("http", 80, "http") | {"appProtocol": "http"}],
        },
    )


def _annotations(model: EmbeddingModel) -> dict[str, str]:
    """Those of the manifest, and which they are: one that the manifest has no more must be seen to be too many."""
    asked = model.gateway.service_annotations
    return {**asked, ANNOTATIONS: " ".join(sorted(asked))}


def _port(name: str, port: int, target: str) -> Object:
    return {"name": name, "port": port, "targetPort": target, "protocol": "TCP"}
