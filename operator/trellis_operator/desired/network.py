"""The NetworkPolicy of engines: their gateways may call them, Prometheus may read their metrics, nobody else."""

from trellis_operator.desired import names
from trellis_operator.desired.child import Object, child
from trellis_operator.kinds import NETWORK_POLICY
from trellis_operator.spec import EmbeddingModel

_PROMETHEUS = {"app.kubernetes.io/name": "prometheus"}


def engine_policy(model: EmbeddingModel) -> Object:
    """Gateways of the same model on the gRPC port; pods named prometheus, of any namespace, on the metrics port."""
    gateways = {"podSelector": {"matchLabels": names.selector(model, names.GATEWAY)}}
    prometheus = {"namespaceSelector": {}, "podSelector": {"matchLabels": _PROMETHEUS}}
    return child(
        NETWORK_POLICY,
        model,
        names.engine(model),
        names.ENGINE,
        spec={
            "podSelector": {"matchLabels": names.selector(model, names.ENGINE)},
            "policyTypes": ["Ingress"],
            "ingress": [_allow(gateways, names.GRPC_PORT), _allow(prometheus, names.ENGINE_METRICS_PORT)],
        },
    )


def _allow(peer: Object, port: int) -> Object:
    return {"from": [peer], "ports": [{"port": port, "protocol": "TCP"}]}
