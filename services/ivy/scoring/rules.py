"""`ScoringRules`: what the manifest's `spec.embedding.scoring` asks of the gateway. Knows no model and no request."""

from dataclasses import dataclass
from typing import Any

from ivy.errors import ConfigError
from ivy.scoring.activation import Activation

AUTO = "auto"
_KNOWN = frozenset({"activation", "instruction", "template"})


@dataclass(frozen=True, slots=True)
class ScoringRules:
    """What stands above the model's own files; None leaves the word to them."""

    activation: Activation | None = None
    template: str | None = None
    """A text with `{query}`, `{document}` and perhaps `{instruction}` in it: what the model reads of a pair."""
    instruction: str | None = None
    """What the model is told to look for."""


def scoring_rules_of(value: Any) -> ScoringRules | None:
    """Check the field; None where it is absent.

    Raises:
        ConfigError: names the field.
    """
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ConfigError("scoring is not an object")
    unknown = sorted(set(value) - _KNOWN)
    if unknown:
        raise ConfigError(f"scoring: unknown field {unknown[0]!r}: known are {', '.join(sorted(_KNOWN))}")
    return ScoringRules(_activation(value.get("activation")), _text(value, "template"), _text(value, "instruction"))


def _activation(value: Any) -> Activation | None:
    if value is None or value == AUTO:
        return None
    names = [each.value for each in Activation]
    if value not in names:
        raise ConfigError(f"scoring.activation {value!r} is not one of {', '.join((AUTO, *names))}")
    return Activation(value)


def _text(value: dict[str, Any], field: str) -> str | None:
    text = value.get(field)
    if text is not None and (not isinstance(text, str) or not text):
        raise ConfigError(f"scoring.{field} is not a text")
    return text
