"""`PairText`: one text that a model reads of a pair, where its tokenizer alone does not say how. Pure.

The document comes last of what varies, so that a text which is too long can be cut there and end as the model expects:
the score is read at the end.
"""

import re
from dataclasses import dataclass

from ivy.errors import ConfigError

_SLOT = re.compile(r"\{(instruction|query|document)\}")


@dataclass(frozen=True, slots=True)
class PairText:
    """The texts around a query and a document."""

    before: str
    between: str
    after: str

    def head(self, query: str) -> str:
        """All that comes before the document."""
        return f"{self.before}{query}{self.between}"

    def whole(self, query: str, document: str) -> str:
        """All of it."""
        return f"{self.before}{query}{self.between}{document}{self.after}"


def pair_text_of(template: str, instruction: str | None) -> PairText:
    """Read a template: `{query}`, then `{document}`, once each, and `{instruction}` anywhere before the document.

    Raises:
        ConfigError: it is not such a template, or its instruction is not given.
    """
    slots = [match[1] for match in _SLOT.finditer(template)]
    if [slot for slot in slots if slot != "instruction"] != ["query", "document"] or slots[-1] != "document":
        raise ConfigError(
            "scoring.template: {query} and then {document} must stand in it once each, {document} as the last"
        )
    if "instruction" in slots and instruction is None:
        raise ConfigError("scoring.template has {instruction} in it, and there is no scoring.instruction")
    if "instruction" not in slots and instruction is not None:
        raise ConfigError("scoring.instruction has no place: scoring.template has no {instruction} in it")
    before, rest = template.split("{query}")
    between, after = rest.split("{document}")
    before, between = (part.replace("{instruction}", instruction or "") for part in (before, between))
    return PairText(before, between, after)
