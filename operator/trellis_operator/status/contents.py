"""What engines hold of a source that can change: whether all of them the same, and what to do where they do not."""

from collections.abc import Mapping
from typing import Any

from trellis_operator.plan.observed import is_settled
from trellis_operator.source import HuggingFaceSource
from trellis_operator.status.view import View

REASON = "MixedContents"
_KEPT = ("contents", "revision")


def mixed(view: View) -> tuple[str, str] | None:
    """A reason and what to do, where engines hold different files of one source and no rollout will end that."""
    holders = {each.contents: each for each in reversed(view.warmth) if each.contents}
    if len(holders) < 2 or not is_settled(view.engine):
        return None
    held = "; ".join(
        f"{each.pod} holds {contents}{f' (revision {each.revision})' if each.revision else ''}"
        for contents, each in sorted(holders.items(), key=lambda held: held[1].pod)
    )
    return REASON, (
        f"the source has changed between two pods: {held}. Gateways ask engines of one of them only. "
        f"What to do: {_pin(view)}, or write another text into the annotation trellis.dev/restart, which makes all "
        "pods anew from the source as it is now."
    )


def told(view: View, before: Mapping[str, Any], digest: str) -> dict[str, str]:
    """`contents` and `revision` of the status, where all engines say the same.

    Args:
        view: what was seen; where no engine answers, what is known of this model stays.
        before: the status that is there.
        digest: of the model that is served now.
    """
    if not view.model.is_asked:
        return {}
    answers = [each for each in view.warmth if each.contents]
    if not answers and before.get("modelDigest") == digest:
        return {key: value for key, value in before.get("resolved", {}).items() if key in _KEPT}
    found = {"contents": {each.contents for each in answers}, "revision": {each.revision for each in answers}}
    return {key: values.pop() for key, values in found.items() if len(values) == 1}


def _pin(view: View) -> str:
    if isinstance(view.model.model.source, HuggingFaceSource):
        return "name a commit in model.source.huggingFace.revision"
    return "name a source that stays as it is (another folder, an image by its digest)"
