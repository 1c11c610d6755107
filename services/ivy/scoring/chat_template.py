"""A model's own chat template to a `PairText`, once at start.

Templates of rerankers take messages of the roles `query` and `document`. Two marks are rendered through the template,
and what comes out around them is what every pair gets: requests never reach the template.
"""

from collections.abc import Mapping
from typing import Any

from jinja2 import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ivy.errors import ConfigError
from ivy.scoring.pair_text import PairText

_QUERY, _DOCUMENT = "\ue000query\ue000", "\ue000document\ue000"
"""Of the private use area: no template has them in it."""
_FAILURES = (TemplateError, TypeError, ValueError)
"""Of a template that does not fit the messages, or is none."""


def pair_text_from_chat(template: str, instruction: str | None, settings: Mapping[str, Any]) -> PairText | None:
    """What a chat template makes of a pair; None where it does not show both texts once each, the query first.

    Args:
        template: in Jinja.
        instruction: the system's message; None: the template has its own.
        settings: more that it is rendered with, as the model's files say.

    Raises:
        ConfigError: the template cannot be rendered at all.
    """
    failures: list[Exception] = []
    for structured in (False, True):
        try:
            text = _shown(_rendered(template, _messages(instruction, structured=structured), settings))
        except _FAILURES as error:
            failures.append(error)
            continue
        if text is not None:
            return text
    if len(failures) == 2:
        raise ConfigError(f"the model's chat template cannot be rendered: {failures[0]}")
    return None


def _shown(rendered: str) -> PairText | None:
    """The texts around the two marks; None where they are not there once each, the query first."""
    if rendered.count(_QUERY) != 1 or rendered.count(_DOCUMENT) != 1:
        return None
    before, _, rest = rendered.partition(_QUERY)
    between, mark, after = rest.partition(_DOCUMENT)
    return PairText(before, between, after) if mark else None


def _messages(instruction: str | None, *, structured: bool) -> list[dict[str, Any]]:
    texts = {"query": _QUERY, "document": _DOCUMENT}
    if instruction is not None:
        texts = {"system": instruction, **texts}
    return [
        {"role": role, "content": [{"type": "text", "text": text}] if structured else text}
        for role, text in texts.items()
    ]


def _rendered(template: str, messages: list[dict[str, Any]], settings: Mapping[str, Any]) -> str:
    """Render as transformers does, so that every line break is where a model's makers saw it."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.globals["raise_exception"] = _refuse
    try:
        return environment.from_string(template).render({**settings, "messages": messages})
    except _Refused:
        return ""


class _Refused(Exception):  # noqa: N818
    """The template itself does not take such messages."""


def _refuse(message: str) -> None:
    raise _Refused(message)
