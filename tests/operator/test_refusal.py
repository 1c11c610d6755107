"""What API servers and their admission plugins say no with, and what the status makes of it."""

import pytest
from trellis_operator.cluster.errors import AwayError, RefusedError, error_of
from trellis_operator.status.refusal import explained, refusal

USER = 'User "system:serviceaccount:trellis-system:trellis"'
TABLE = [
    (403, 'pods "x" is forbidden: exceeded quota: q, requested: cpu=1, used: cpu=3, limited: cpu=3', "QuotaExceeded"),
    (403, 'pods "x" is forbidden: failed quota: q: must specify limits.cpu for: engine', "QuotaExceeded"),
    (403, 'pods "x" is forbidden: insufficient quota to consume: pods', "QuotaExceeded"),
    (403, 'pods "x" is forbidden: status unknown for quota: q, resources: cpu', "QuotaUnknown"),
    (403, 'pods "x" is forbidden: maximum cpu usage per Container is 1, but limit is 2', "LimitRange"),
    (
        403,
        'pods "x" is forbidden: [minimum memory usage per Pod is 1Gi.  No request is specified, maximum cpu usage per '
        "Pod is 1, but limit is 2]",
        "LimitRange",
    ),
    (
        403,
        'pods "x" is forbidden: cpu max limit to request ratio per Container is 2, but provided ratio is 4.000000',
        "LimitRange",
    ),
    (
        403,
        'persistentvolumeclaims "x" is forbidden: maximum storage usage per PersistentVolumeClaim is 5Gi, but request '
        "is 20Gi",
        "LimitRange",
    ),
    (
        403,
        'pods "x" is forbidden: violates PodSecurity "restricted:latest": hostPort (container "mesh")',
        "PodSecurityViolation",
    ),
    (
        403,
        'pods "x" is forbidden: unable to validate against any security context constraint: [provider restricted-v2: '
        ".spec.securityContext.fsGroup: Invalid value]",
        "PodSecurityViolation",
    ),
    (403, 'pods "x" is forbidden: no PriorityClass with name high was found', "PriorityClassRefused"),
    (
        403,
        'pods "x" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission '
        "controller computed 0 from the given PriorityClass name",
        "PriorityClassRefused",
    ),
    (403, 'pods "x" is forbidden: pod rejected: RuntimeClass "gvisor" not found', "RuntimeClassRefused"),
    (
        403,
        'persistentvolumeclaims "x" is forbidden: only dynamically provisioned pvc can be resized and the storageclass '
        "that provisions the pvc must support resize",
        "ResizeRefused",
    ),
    (
        422,
        'PersistentVolumeClaim "x" is invalid: spec: Forbidden: spec is immutable after creation except '
        "resources.requests and volumeAttributesClassName for bound claims",
        "ClaimFixed",
    ),
    (403, 'admission webhook "w" denied the request: no', "WebhookDenied"),
    (400, 'admission webhook "w" denied the request without explanation', "WebhookDenied"),
    (500, 'admission webhook "w" denied the request: the policies cannot be read', "WebhookDenied"),
    (500, "Internal error occurred: replace operation does not apply: doc is missing path: /spec/x", "InternalError"),
    (500, "Internal error occurred: failed to allocate a serviceIP: range is full", "InternalError"),
    (
        422,
        "deployments.apps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
        "PolicyDenied",
    ),
    (
        500,
        'Internal error occurred: failed calling webhook "w": failed to call webhook: Post "https://w.svc": EOF',
        "WebhookFailed",
    ),
    (
        403,
        'configmaps "x" is forbidden: unable to create new content in namespace n because it is being terminated',
        "NamespaceTerminating",
    ),
    (404, 'namespaces "n" not found', "NamespaceTerminating"),
    (
        403,
        f'deployments.apps "x" is forbidden: {USER} cannot patch resource "deployments" in API group "apps" in the '
        'namespace "n"',
        "Forbidden",
    ),
    (
        403,
        'roles.rbac.authorization.k8s.io "x" is forbidden: user "trellis" (groups=["g"]) is attempting to grant RBAC '
        "permissions not currently held: {…}",
        "Forbidden",
    ),
    (
        403,
        'pods "x" is forbidden: pod node label selector conflicts with its namespace node label selector',
        "AdmissionDenied",
    ),
    (422, 'Deployment.apps "x" is invalid: spec.x: Invalid value: 1', "Invalid"),
    (404, "the server could not find the requested resource", "NotServed"),
    (409, "the object has been modified", "Conflict"),
    (413, "Request entity too large: limit is 3145728", "TooLarge"),
    (500, "failed to create typed patch object: .spec.x: field not declared in schema", "TooOld"),
    (418, "I am a teapot", "Refused"),
    (403, 'pods "x" is forbidden: exceeded quota: q, requested: cpu=1', "QuotaExceeded"),
    (403, 'pods "x" is forbidden: violates PodSecurity "restricted:latest"', "PodSecurityViolation"),
    (403, "deployments.apps x is forbidden: ValidatingAdmissionPolicy 'p' denied request: no", "PolicyDenied"),
    (500, 'failed calling webhook "w": timeout', "WebhookFailed"),
    (403, "unable to create: namespace x is being terminated", "NamespaceTerminating"),
    (403, 'deployments.apps is forbidden: User "u" cannot patch', "Forbidden"),
    (422, "Deployment is invalid: spec.x", "Invalid"),
]


QUOTED = [
    "containers must specify resource limits",
    "exceeded quota of the team",
    'RuntimeClass "gvisor" is for the platform alone',
    "maximum cpu usage per team is 4",
    "violates PodSecurity rules of the platform",
    "the namespace is being terminated soon",
    "no PriorityClass with name high may be used",
    'failed calling webhook "inner"',
]


@pytest.mark.parametrize("said", QUOTED)
@pytest.mark.parametrize(
    ("before", "reason"),
    [
        ('admission webhook "validate.kyverno.svc-fail" denied the request: policy: ', "WebhookDenied"),
        ("deployments.apps \"x\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: ", "PolicyDenied"),
    ],
)
def test_what_a_webhook_or_a_policy_says_in_its_own_words_is_theirs(before: str, reason: str, said: str) -> None:
    assert explained(403, before + said)[0] == reason


@pytest.mark.parametrize(("code", "message", "reason"), TABLE)
def test_each_refusal_has_a_reason_and_says_what_to_do(code: int, message: str, reason: str) -> None:
    found = refusal(("Deployment", "x"), code, message)
    assert found.reason == reason == explained(code, message)[0]
    assert "What to do:" in found.message
    assert message in found.message


def test_a_value_that_does_not_pass_is_no_matter_of_rights_also_where_a_controller_makes_the_pods() -> None:
    """A ReplicaSet tells what was said, and not with which code."""
    said = 'Pod "x" is invalid: spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal'
    assert explained(403, said)[0] == "Invalid"


@pytest.mark.parametrize("words", ['failed calling webhook "w": EOF', ".spec.x: field not declared in schema"])
def test_a_server_that_answers_with_500_and_will_again_has_refused(words: str) -> None:
    assert isinstance(error_of(500, {"reason": "InternalError", "message": words}, None), RefusedError)
    assert isinstance(error_of(500, {"reason": "InternalError", "message": "etcd is away"}, None), AwayError)


@pytest.mark.parametrize("code", [400, 403, 408, 429, 500, 502, 503, 504])
def test_a_webhook_that_denies_has_refused_with_whatever_code(code: int) -> None:
    """Webhooks choose it; an API server keeps it, and says whose word it is."""
    found = error_of(code, {"message": 'admission webhook "w" denied the request: not now'}, "1")
    assert isinstance(found, RefusedError)
    assert found.code == code


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (503, {"message": "etcd is away"}),
        (429, {"message": "too many requests"}),
        (500, "a page of a proxy"),
        (500, {}),
    ],
)
def test_a_server_that_is_away_has_refused_nothing(code: int, status: object) -> None:
    found = error_of(code, status, None)
    assert isinstance(found, AwayError)
    assert found.refused is None
