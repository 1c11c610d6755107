"""Why the API server did not take an object, in one word and in a sentence that says what to do."""

import re
from dataclasses import dataclass

from trellis_operator.plan.observed import Ref


@dataclass(frozen=True)
class Refusal:
    """One object that was not taken.

    Attributes:
        target: kind and name.
        reason: one word.
        message: what was said, and what to do.
    """

    target: Ref
    reason: str
    message: str


_QUOTA = ("QuotaExceeded", "raise the ResourceQuota of the namespace, or ask for less")
_LIMITS = (
    "LimitRange",
    "see kubectl describe limitrange; ask within it in engine.resources or gateway.resources "
    "(cache.persistentVolumeClaim.size for a claim), or have it changed",
)
_SECURITY = (
    "PodSecurityViolation",
    "pods of Trellis pass the level restricted: take out of spec.scheduling what the message names, or ask who adds it "
    "to pods; else lower the label pod-security.kubernetes.io/enforce of the namespace",
)
_CONSTRAINTS = ("PodSecurityViolation", "let the model's ServiceAccounts use constraints that allow user 65532")
_WEBHOOK = ("WebhookDenied", "an admission webhook of this cluster refuses it: ask who runs that webhook")
_LEAVING = ("NamespaceTerminating", "the namespace is being deleted, or gone: make the model in another one")
_RIGHTS = ("Forbidden", "the operator lacks a right: install the chart's roles of this version")
_PRIORITY = ("PriorityClassRefused", "name a PriorityClass that exists in spec.scheduling.priorityClassName")
_WORDS = {
    # First what speaks in words of others: a webhook or a policy may name quotas, limits and classes.
    "denied the request": _WEBHOOK,
    "ValidatingAdmissionPolicy": (
        "PolicyDenied",
        "an admission policy of this cluster refuses it: change the manifest as its message says, or ask who made it",
    ),
    "failed calling webhook": (
        "WebhookFailed",
        "an admission webhook of this cluster does not answer: see its pods, or ask who runs it",
    ),
    "exceeded quota": _QUOTA,
    "insufficient quota": _QUOTA,
    "status unknown for quota": (
        "QuotaUnknown",
        "the ResourceQuota of the namespace is still counted: this is tried again",
    ),
    "must specify": (
        "QuotaExceeded",
        "the ResourceQuota of the namespace counts what these pods do not ask for: set it in engine.resources and "
        "gateway.resources; what fetches or copies a model gets it from a LimitRange with defaults alone",
    ),
    "usage per ": _LIMITS,
    "limit to request ratio per ": _LIMITS,
    "violates PodSecurity": _SECURITY,
    "security context constraint": _CONSTRAINTS,
    "no PriorityClass with name": _PRIORITY,
    "priority admission controller": _PRIORITY,
    'RuntimeClass "': ("RuntimeClassRefused", "name a RuntimeClass that exists in spec.scheduling.runtimeClassName"),
    "pvc must support resize": (
        "ResizeRefused",
        "the StorageClass of the claim lets none grow: set its allowVolumeExpansion to true, or take "
        "cache.persistentVolumeClaim away and add it anew, which downloads again",
    ),
    "only bound persistent volume claims can be": (
        "ResizeRefused",
        "a claim can grow once it has its volume: see kubectl describe pvc; this is tried again",
    ),
    "spec is immutable after creation": (
        "ClaimFixed",
        "what differs of a claim cannot be changed: take cache.persistentVolumeClaim away and add it anew, which "
        "downloads again",
    ),
    "is being terminated": _LEAVING,
    "field not declared in schema": ("TooOld", "the API server, or the CRD of that kind, is too old for it: update it"),
    # Roles may give no more than who makes them has.
    "attempting to grant RBAC permissions": _RIGHTS,
}
"""By what an API server of Kubernetes and its admission plugins say, the more telling words first."""
_PATTERNS = {
    re.compile(r'User "[^"]*" cannot [a-z]+\b'): _RIGHTS,
    re.compile(r'^namespaces "[^"]+" not found'): _LEAVING,
    re.compile(r'\S+ "[^"]+" is invalid: '): ("Invalid", "a value of the manifest does not pass there: correct it"),
}
_CODES = {
    403: (
        "AdmissionDenied",
        "a rule of this cluster refuses it: change the manifest as it says, or ask who looks after the cluster",
    ),
    404: (
        "NotServed",
        "the API server does not know this kind: install its CRD, or take the field away",
    ),
    409: ("Conflict", "it was changed at the same moment; this is tried again"),
    413: ("TooLarge", "it is larger than the API server takes: shorten the prompts"),
    422: ("Invalid", "a value of the manifest does not pass there: correct it"),
    500: (
        "InternalError",
        "the API server, or a webhook of this cluster, fails on it: see the message, or ask who looks after the "
        "cluster; this is tried again",
    ),
}


def explained(code: int, message: str) -> tuple[str, str]:
    """A reason and a hint for what an API server answered, or told of an answer to somebody else."""
    for words, found in _WORDS.items():
        if words in message:
            return found
    for pattern, found in _PATTERNS.items():
        if pattern.search(message):
            return found
    return _CODES.get(code, ("Refused", "see the message"))


def refusal(target: Ref, code: int, message: str) -> Refusal:
    """The refusal of an object by the API server, or by what stands before it."""
    reason, hint = explained(code, message)
    return Refusal(target, reason, f"{' '.join(target)} was not taken: {message.rstrip('. ')}. What to do: {hint}.")


def name_taken(target: Ref) -> Refusal:
    """There is an object of that name that belongs to someone else; it is left alone."""
    kind, name = target
    message = f"there is a {kind} {name} that is not this model's; it is left alone. What to do: rename one of the two."
    return Refusal(target, "NameTaken", message)
