"""A ValidatingAdmissionPolicy of the cluster for the objects of one namespace."""

from collections.abc import Iterator
from contextlib import contextmanager

from e2ekit.kubectl import Kubectl, Manifest


@contextmanager
def refusing(kubectl: Kubectl, what: str, rule: Manifest, only: str, message: str) -> Iterator[str]:
    """While inside, of what `rule` matches only that is taken of which `only`, in CEL, holds; yields its name.

    It takes the API server a moment to heed it.
    """
    name = f"no-{what}-{kubectl.namespace}"
    where = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": kubectl.namespace}}}
    group = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    validations = [{"expression": only, "message": message}]
    policy = group | {
        "kind": "ValidatingAdmissionPolicy",
        "spec": {"matchConstraints": {"resourceRules": [rule], **where}, "validations": validations},
    }
    binding = group | {
        "kind": "ValidatingAdmissionPolicyBinding",
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    kubectl.apply(policy, binding)
    try:
        yield name
    finally:
        for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
            kubectl.delete(kind, name)
