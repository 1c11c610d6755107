"""The ServiceAccounts: engines get no token, gateways read the EndpointSlices of their namespace, fetches nothing."""

from trellis_operator.desired import names
from trellis_operator.desired.child import Object, child
from trellis_operator.kinds import ROLE, ROLE_BINDING, SERVICE_ACCOUNT
from trellis_operator.spec import EmbeddingModel


def engine_account(model: EmbeddingModel) -> Object:
    """Of engines and of the download: it may do nothing, and no token is mounted."""
    return child(SERVICE_ACCOUNT, model, names.engine(model), names.ENGINE, automountServiceAccountToken=False)


def gateway_account(model: EmbeddingModel) -> Object:
    """Of gateways."""
    return child(SERVICE_ACCOUNT, model, names.gateway(model), names.GATEWAY, automountServiceAccountToken=True)


def gateway_role(model: EmbeddingModel) -> Object:
    """Get, list and watch of EndpointSlices: how a gateway finds its engines."""
    rule = {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["get", "list", "watch"]}
    return child(ROLE, model, names.gateway(model), names.GATEWAY, rules=[rule])


def gateway_role_binding(model: EmbeddingModel) -> Object:
    """Gives the role to the gateways."""
    name = names.gateway(model)
    return child(
        ROLE_BINDING,
        model,
        name,
        names.GATEWAY,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        subjects=[{"kind": "ServiceAccount", "name": name, "namespace": model.namespace}],
    )
