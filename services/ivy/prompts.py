"""Prompts: which text, if any, goes before an input. Pure; knows no tokenizer and no HTTP."""

from collections.abc import Mapping
from dataclasses import dataclass

from ivy.errors import BadRequest, UnknownModel

QUERY = ("query",)
DOCUMENT = ("document", "passage")
PASSAGE = ("passage", "document")
"""Names under which models keep the prompt of a text to be found: the one that was asked for first."""

ROLES: dict[str, tuple[str, ...]] = {
    "query": QUERY,
    "search_query": QUERY,
    "retrieval.query": QUERY,
    "document": DOCUMENT,
    "passage": PASSAGE,
    "search_document": DOCUMENT,
    "retrieval.passage": PASSAGE,
    "classification": ("classification",),
    "clustering": ("clustering",),
}
"""What `input_type` may say besides a prompt's own name, as clients of several services spell it."""

SUFFIXES = {"-query": "query", "-passage": "passage"}
"""What may follow a model's name, so that a client with no other field can choose."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of one model.

    A role (`query`, `document` and their synonyms) is an offer: a model without such a prompt takes the text as it is.
    A name is a demand: a model without it refuses.
    """

    texts: Mapping[str, str]
    default: str | None = None

    def of_role(self, role: str) -> str | None:
        """The text for a role that `ROLES` knows, or None where the model has none.

        An empty one hides none of another name: sentence-transformers writes an empty `document` where nobody set it.
        """
        return next((self.texts[name] for name in ROLES[role] if self.texts.get(name)), None)

    def named(self, name: str, param: str) -> str:
        """The text of the prompt `name`.

        Raises:
            BadRequest: the model has none of this name; the message lists those that it has.
        """
        if name in self.texts:
            return self.texts[name]
        known = ", ".join(sorted(self.texts)) or "none"
        raise BadRequest(f"the model has no prompt {_shown(name)}; it has: {known}", param=param)

    def chosen(self, input_type: str | None, prompt_name: str | None, role: str | None) -> str:
        """The text that goes before each input of a request; empty for none.

        Args:
            input_type: the field of the request: a role or a name.
            prompt_name: the field of the request: a name.
            role: the role that the model's suffix asked for.

        Raises:
            BadRequest: both fields are there, or one asks for a prompt that the model does not have.
        """
        if prompt_name is not None:
            if input_type is not None:
                raise BadRequest("input_type and prompt_name are both there: one of them chooses", param="prompt_name")
            return self.named(prompt_name, "prompt_name")
        if input_type is not None and not self.texts.get(input_type) and input_type.lower() in ROLES:
            return self.of_role(input_type.lower()) or ""
        if input_type is not None:
            return self.named(input_type, "input_type")
        if role is not None:
            return self.of_role(role) or ""
        return self.texts[self.default] if self.default is not None else ""

    def is_query(self, input_type: str | None, prompt_name: str | None, role: str | None) -> bool:
        """Whether the inputs of a request with these fields are queries; those of which nobody says it are not."""
        name = prompt_name or input_type or role or self.default or ""
        return ROLES.get(name.lower()) is QUERY


def model_and_role(asked: str, served: tuple[str, ...]) -> tuple[str, str | None]:
    """Split what a request calls the model into a served name and the role of its suffix.

    Raises:
        UnknownModel: no served name fits; the message lists them.
    """
    if asked in served:
        return asked, None
    for suffix, role in SUFFIXES.items():
        if asked.removesuffix(suffix) in served:
            return asked.removesuffix(suffix), role
    raise UnknownModel(f"the model {_shown(asked)} is not served here; served: {', '.join(served)}", param="model")


def _shown(name: str) -> str:
    return repr(name if len(name) <= 80 else name[:80] + "…")
