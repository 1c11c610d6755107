"""The NetworkPolicy of engines: their gateways may call them, Prometheus may read their metrics, nobody else.

Where engines may have graphs, or hold other files than the manifest can name, the operator may call them too.
"""

from trellis_operator.desired import names
from trellis_operator.desired.child import Object, child
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.kinds import NETWORK_POLICY
from trellis_operator.spec import EmbeddingModel

_PROMETHEUS = {"app.kubernetes.io/name": "prometheus"}
_OPERATOR = {names.COMPONENT: "operator"}


def engine_policy(model: EmbeddingModel, setting: ClusterSetting) -> Object:
    """Gateways of the same model on the gRPC port; pods named prometheus, of any namespace, on the metrics port."""
    gateways = {"podSelector": {"matchLabels": names.selector(model, names.GATEWAY)}}
    operator = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": setting.operator_namespace}},
        "podSelector": {"matchLabels": _OPERATOR},
    }
    callers = [gateways, operator] if model.is_asked else [gateways]
    prometheus = {"namespaceSelector": {}, "podSelector": {"matchLabels": _PROMETHEUS}}
    return child(
        NETWORK_POLICY,
        model,
        names.engine(model),
        names.ENGINE,
        spec={
            "podSelector": {"matchLabels": names.selector(model, names.ENGINE)},
            "policyTypes": ["Ingress"],
            "ingress": [_allow(callers, names.GRPC_PORT), _allow([prometheus], names.ENGINE_METRICS_PORT)],
        },
    )


def _allow(peers: list[Object], port: int) -> Object:
    return {"from": peers, "ports": [{"port": port, "protocol": "TCP"}]}
