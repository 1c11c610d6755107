"""Rules that are a little wrong, each in one number, one range, one wait or one guard. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Rule = dict[str, Any]

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_MATCHERS = r"\{[^}]*\}"
_NAMES = r"[a-zA-Z_:][\w:]*"
_RANGES = r"\[\d+[smhd]\]"
_NUMBER = r"\d+(?:\.\d+)?"
_TOKENS = re.compile(rf"(?:{_MATCHERS})|(?:{_NAMES})|(?:{_RANGES})|(?P<number>{_NUMBER})")


@dataclass(frozen=True)
class Mutant:
    """One rule, changed.

    Attributes:
        of: the name of the alert or of the recorded series.
        said: what was changed.
        rule: what stands in its place.
    """

    of: str
    said: str
    rule: Rule


def mutants(rule: Rule) -> Iterator[Mutant]:
    """All of one rule."""
    name = rule.get("alert") or rule["record"]
    for said, expression in (*_other_numbers(rule["expr"]), *_other_ranges(rule), *_without_a_guard(rule["expr"])):
        yield Mutant(name, said, rule | {"expr": expression})
    if "alert" in rule:
        for wait in _waits(rule.get("for", "0m")):
            yield Mutant(name, f"for {rule.get('for', '0m')} -> {wait}", rule | {"for": wait})


def _other_numbers(text: str) -> Iterator[tuple[str, str]]:
    for found in _TOKENS.finditer(text):
        if found["number"] is not None and not _is_a_minute(text, found.start()):
            for other in _numbers(float(found[0])):
                yield f"{found[0]} -> {other} at {found.start()}", _replaced(text, found, other)


def _other_ranges(rule: Rule) -> Iterator[tuple[str, str]]:
    """Not of a record whose name says how far it looks back: that these agree is a test of its own."""
    if re.search(r"rate\d+[mh]$", rule.get("record", "")):
        return
    for found in re.finditer(_RANGES, rule["expr"]):
        for other in _times(found[0][1:-1]):
            yield f"{found[0]} -> [{other}] at {found.start()}", _replaced(rule["expr"], found, f"[{other}]")


def _is_a_minute(text: str, place: int) -> bool:
    return text[:place].endswith(" * ") and text[place:].startswith("60")


def _replaced(text: str, found: re.Match[str], other: str) -> str:
    return text[: found.start()] + other + text[found.end() :]


def _numbers(value: float) -> tuple[str, ...]:
    return {0.0: ("1",), 1.0: ("0", "2")}.get(value, (f"{value * 2:g}", f"{value / 2:g}"))


def _waits(text: str) -> tuple[str, ...]:
    return ("10m",) if text == "0m" else _times(text)


def _times(text: str) -> tuple[str, str]:
    seconds = int(text[:-1]) * _SECONDS[text[-1]]
    return f"{seconds * 2}s", f"{seconds // 2}s"


def _without_a_guard(text: str) -> Iterator[tuple[str, str]]:
    """Without each of the parts that `and` and `unless` join."""
    first, *rest = re.split(r"\s+(?=(?:and|unless)\b)", text.strip())
    for number, part in enumerate(rest):
        yield f"without: {part}", "\n".join([first, *rest[:number], *rest[number + 1 :]])
    if rest and rest[0].startswith("and"):
        bare = re.sub(r"^and\s+(?:on\s*\([^)]*\)\s*)?", "", rest[0])
        yield f"without: {first}", "\n".join([bare, *rest[1:]])
