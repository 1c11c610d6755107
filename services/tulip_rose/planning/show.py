"""A plan for a person: tables in Markdown, and the part of a manifest. Pure."""

from collections.abc import Sequence as Run

from tulip_rose.rose.plan.buckets import Budget, Graph, Plan
from tulip_rose.rose.plan.observed import Observed

_ESTIMATED = (
    "Estimated: two histograms tell neither which sizes lie within a bucket nor which go together. Expect fewer\n"
    "batches to be covered than the table says, 97 to 100 % in place of 99.9 %. Counts by both sizes give what it says."
)
_SHORT = (
    "The budget of {graphs} graphs gives {covered} of the batches a graph that is ready, not {asked}: the others are\n"
    "captured when they come twice."
)


def shown(observed: Observed, estimate: bool, budget: Budget, plans: dict[str, Plan]) -> str:
    """Everything that is known of the first plan, and how the others compare."""
    proposed = next(iter(plans.values()))
    parts = [repr(observed)]
    if estimate:
        parts.append(_ESTIMATED)
    parts.append(_compared(plans))
    if proposed.covered < budget.coverage:
        asked, covered = _percent(budget.coverage), _percent(proposed.covered)
        parts.append(_SHORT.format(graphs=budget.graphs, covered=covered, asked=asked))
    return "\n\n".join([*parts, _graphs(proposed.prewarm), manifest(proposed)])


def manifest(plan: Plan) -> str:
    """The plan as `spec.engine.cudaGraphs` of a manifest, in YAML."""
    slots = ", ".join(map(str, plan.buckets.slots))
    lines = ["cudaGraphs:", f"  tokenBucketMultiple: {plan.buckets.multiple}", f"  sequenceSlots: [{slots}]"]
    if plan.prewarm:
        lines.append("  prewarm:")
    lines += [f"    - {{tokens: {graph.tokens}, sequences: {graph.slots}}}" for graph in plan.prewarm]
    return "\n".join(lines)


def _compared(plans: dict[str, Plan]) -> str:
    header = ("", "multiple", "slots", "padded rows", "empty slots", "graphs met", "prewarmed", "batches covered")
    rows = [
        (
            name,
            str(plan.buckets.multiple),
            " ".join(map(str, plan.buckets.slots)),
            _percent(plan.wasted_rows),
            _percent(plan.wasted_slots),
            str(plan.keys),
            str(len(plan.prewarm)),
            _percent(plan.covered),
        )
        for name, plan in plans.items()
    ]
    return _table(header, rows)


def _graphs(graphs: Run[Graph]) -> str:
    rows = [(str(each.tokens), str(each.slots), _percent(each.batches), _percent(each.wasted)) for each in graphs]
    return _table(("prewarm: tokens", "slots", "batches", "padded rows"), rows)


def _percent(share: float) -> str:
    return f"{share:.1%}"


def _table(header: Run[str], rows: Run[Run[str]]) -> str:
    """Lines that are a table in Markdown and, with columns of one width, for whoever reads them as they are."""
    widths = [max(len(line[column]) for line in (header, *rows)) for column in range(len(header))]
    rule = [f"{'-' * (width + 1)}:" for width in widths]
    lines = [
        "| " + " | ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in (header, *rows)
    ]
    return "\n".join([lines[0], "|" + "|".join(rule) + "|", *lines[1:]])
