"""GraphsWarmed: whether engines have captured the graphs that the manifest names, and room for steps of every size.

Where they have not, it says what to do.
"""

from collections.abc import Iterator, Sequence

from trellis_operator.desired import names
from trellis_operator.plan.warmth import Warmth
from trellis_operator.status.condition import FALSE, TRUE, Condition
from trellis_operator.status.trouble import trouble
from trellis_operator.status.view import View, count

_KIND = "GraphsWarmed"
_SHOWN = 3
_AFTER_FAILURE = (
    "Batches of those sizes are served, and slower. What to do: take them out of engine.cudaGraphs.prewarm or try "
    "another engine.attentionBackend; onCaptureFailure fail keeps such an engine from getting ready."
)


_WITHOUT_ROOM = (
    "Batches of those sizes are split, and a text that has no room alone fails. What to do: lower "
    "engine.batching.maxBatchTokens, name fewer sizes in engine.cudaGraphs.prewarm, and see that nobody else uses the "
    "device."
)


def graphs_warmed(view: View) -> Condition:
    """Whether engines have captured their graphs; an engine is ready only after that."""
    if not view.model.engine.accelerated:
        return Condition(_KIND, TRUE, "NotNeeded", "engines on CPUs have no graphs")
    if view.model.engine.graphs.off:
        return Condition(_KIND, TRUE, "NotNeeded", "engine.cudaGraphs.mode is off")
    return _told(view.warmth) if view.warmth else _untold(view)


def warmed_graphs(view: View) -> int | None:
    """How many of the graphs to capture the least warmed engine has captured; None where no engine has graphs."""
    return min((each.captured for each in view.warmth if each.has_graphs), default=None)


def _told(engines: Sequence[Warmth]) -> Condition:
    """By what the engines say."""
    for reason, sentences, then in (
        ("OutOfMemory", list(_crowded(engines)), _WITHOUT_ROOM),
        ("CaptureFailed", list(_failures(engines)), _AFTER_FAILURE),
    ):
        if sentences:
            more = f" and {len(sentences) - _SHOWN} more" if len(sentences) > _SHOWN else ""
            return Condition(_KIND, FALSE, reason, f"{'; '.join(sentences[:_SHOWN])}{more}. {then}")
    behind = [each for each in engines if not each.done]
    if behind:
        return _under_way(min(behind, key=lambda each: each.captured), len(engines) - len(behind), len(engines))
    if not any(each.has_graphs for each in engines):
        return Condition(_KIND, TRUE, "NotNeeded", "the device of these engines has no graphs")
    least = min(engines, key=lambda each: each.captured)
    return Condition(_KIND, TRUE, "Warmed", f"each engine has captured {least.captured} of {least.keys} keys")


def _under_way(engine: Warmth, done: int, engines: int) -> Condition:
    doing = {
        "loading": "loads the model",
        "capturing": f"captured {engine.captured} of {engine.keys} keys",
        "verifying": f"captured {engine.captured} of {engine.keys} keys, and compares their vectors",
    }.get(engine.stage, engine.stage)
    key = f", {engine.key} is under way" if engine.key else ""
    return Condition(
        _KIND, FALSE, engine.stage.capitalize(), f"{engine.pod} {doing}{key}; {done} of {engines} engines are warm"
    )


def _failures(engines: Sequence[Warmth]) -> Iterator[str]:
    """One sentence for each engine and size."""
    for engine in engines:
        for key, why in engine.failures:
            yield f"{engine.pod} could not capture {key}: {why.rstrip('. ')}"


def _crowded(engines: Sequence[Warmth]) -> Iterator[str]:
    """One sentence for each engine and size."""
    for engine in engines:
        for key, why in engine.crowded:
            yield f"{engine.pod} had no room for a step of {key}: {why.rstrip('. ')}"


def _untold(view: View) -> Condition:
    """By what pods show: no engine has said anything."""
    if count(view.engine, "readyReplicas"):
        return Condition(_KIND, TRUE, "Warmed", "engines get ready only after their warm-up")
    found = trouble(view, names.ENGINE)
    if found:
        return Condition(_KIND, FALSE, *found)
    return Condition(_KIND, FALSE, "NoEngine", "no engine has finished its warm-up")
