"""The kinds of objects that an EmbeddingModel becomes, and where an API server has them. Pure data."""

from dataclasses import dataclass

Object = dict[str, object]


@dataclass(frozen=True)
class Kind:
    """One kind of object.

    Attributes:
        name: e.g. Deployment.
        api_version: e.g. apps/v1.
        plural: as it stands in a path.
        optional: an API server may not know it.
        once: its spec cannot be changed, so it is applied where it is absent and then left alone.
        for_pods: pods refer to it by name, so it stays until no pod of an older template is left.
    """

    name: str
    api_version: str
    plural: str
    optional: bool = False
    once: bool = False
    for_pods: bool = False

    def path(self, namespace: str | None = None, name: str | None = None, part: str | None = None) -> str:
        """The path of one object, of its subresource, or of all in a namespace or in the cluster."""
        root = f"/api/{self.api_version}" if "/" not in self.api_version else f"/apis/{self.api_version}"
        pieces = [root, f"namespaces/{namespace}" if namespace else None, self.plural, name, part]
        return "/".join(piece for piece in pieces if piece)


DEPLOYMENT = Kind("Deployment", "apps/v1", "deployments")
SERVICE = Kind("Service", "v1", "services")
SERVICE_ACCOUNT = Kind("ServiceAccount", "v1", "serviceaccounts", for_pods=True)
ROLE = Kind("Role", "rbac.authorization.k8s.io/v1", "roles")
ROLE_BINDING = Kind("RoleBinding", "rbac.authorization.k8s.io/v1", "rolebindings")
CONFIG_MAP = Kind("ConfigMap", "v1", "configmaps", for_pods=True)
CLAIM = Kind("PersistentVolumeClaim", "v1", "persistentvolumeclaims", for_pods=True)
JOB = Kind("Job", "batch/v1", "jobs", once=True)
BUDGET = Kind("PodDisruptionBudget", "policy/v1", "poddisruptionbudgets")
AUTOSCALER = Kind("HorizontalPodAutoscaler", "autoscaling/v2", "horizontalpodautoscalers")
SCALED_OBJECT = Kind("ScaledObject", "keda.sh/v1alpha1", "scaledobjects", optional=True)
NETWORK_POLICY = Kind("NetworkPolicy", "networking.k8s.io/v1", "networkpolicies")
POD_MONITOR = Kind("PodMonitor", "monitoring.coreos.com/v1", "podmonitors", optional=True)
HTTP_ROUTE = Kind("HTTPRoute", "gateway.networking.k8s.io/v1", "httproutes", optional=True)

CHILDREN = (
    *(SERVICE_ACCOUNT, ROLE, ROLE_BINDING, CONFIG_MAP, CLAIM, SERVICE, NETWORK_POLICY, BUDGET),
    *(JOB, DEPLOYMENT, AUTOSCALER, SCALED_OBJECT, POD_MONITOR, HTTP_ROUTE),
)
"""All kinds of children, in the order in which they are applied: what pods need stands before what makes pods."""

POD = Kind("Pod", "v1", "pods")
NODE = Kind("Node", "v1", "nodes")
SECRET = Kind("Secret", "v1", "secrets")
LEASE = Kind("Lease", "coordination.k8s.io/v1", "leases")
EVENT = Kind("Event", "v1", "events")
EMBEDDING_MODEL = Kind("EmbeddingModel", "trellis.dev/v1alpha1", "embeddingmodels")

BY_NAME = {kind.name: kind for kind in CHILDREN}
