"""Why the API server did not take an object, in one word and in a sentence that says what to do."""

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
_SECURITY = ("PodSecurityViolation", "the namespace enforces a Pod Security level that these pods do not pass")
_WEBHOOK = ("WebhookDenied", "an admission webhook of this cluster refuses it: ask who runs that webhook")
_LEAVING = ("NamespaceTerminating", "the namespace is being deleted")
_WORDS = {
    "exceeded quota": _QUOTA,
    "must specify limits": _QUOTA,
    "must specify requests": _QUOTA,
    "violates PodSecurity": _SECURITY,
    "denied the request": _WEBHOOK,
    "ValidatingAdmissionPolicy": ("PolicyDenied", "an admission policy of this cluster refuses it: ask who made it"),
    "failed calling webhook": ("WebhookFailed", "an admission webhook of this cluster does not answer: see its pods"),
    "is being terminated": _LEAVING,
    "field not declared in schema": ("TooOld", "the API server, or the CRD of that kind, is too old for it: update it"),
}
_CODES = {
    403: ("Forbidden", "the operator lacks a right: install the chart's roles of this version"),
    404: (
        "NotServed",
        "the API server does not know this kind: install its CRD, or take the field away",
    ),
    409: ("Conflict", "it was changed at the same moment; this is tried again"),
    413: ("TooLarge", "it is larger than the API server takes: shorten the prompts"),
    422: ("Invalid", "a value of the manifest does not pass there: correct it"),
}


def explained(code: int, message: str) -> tuple[str, str]:
    """A reason and a hint for what an API server answered."""
    for words, found in _WORDS.items():
        if words in message:
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
