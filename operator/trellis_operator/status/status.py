"""The status of a model: overwritten as a whole with what was seen."""

from collections.abc import Mapping
from typing import Any

from trellis_operator import crd, schema
from trellis_operator.desired import names
from trellis_operator.desired.deployment import DIGEST, HASH
from trellis_operator.source import HuggingFaceSource, ImageSource, PackageSource
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status import condition, contents
from trellis_operator.status.autoscaled import autoscaled
from trellis_operator.status.available import engine_available, gateway_available
from trellis_operator.status.condition import Condition
from trellis_operator.status.progress import degraded, progressing
from trellis_operator.status.ready import accepted, ready
from trellis_operator.status.source import source_ready
from trellis_operator.status.view import View, count
from trellis_operator.status.warmed import graphs_warmed, warmed_graphs

Object = dict[str, Any]


def conditions(view: View) -> list[Condition]:
    """All conditions, from the first visit on."""
    source, engine, gateway = source_ready(view), engine_available(view), gateway_available(view)
    taken = accepted(view)
    serves = gateway.holds and (engine.holds or view.asleep)
    # What serves goes on serving while a change is refused or downloads: then only the pods count.
    needs = [gateway] if serves else [*([] if taken.holds else [taken]), source, engine, gateway]
    return [
        ready(view, needs),
        taken,
        source,
        engine,
        graphs_warmed(view),
        gateway,
        progressing(view),
        degraded(view),
        autoscaled(view),
    ]


def status(view: View, said: list[Condition], before: Mapping[str, Any], now: str) -> Object:
    """The whole status, none of whose texts is longer than its field: an API server would refuse all of it.

    Args:
        view: what was seen.
        said: the conditions.
        before: the status that is there.
        now: for conditions that change, as RFC 3339.
    """
    model = view.model
    warmed = warmed_graphs(view)
    digest = _annotation(view.gateway, DIGEST) or model.digest
    found = {
        "observedGeneration": model.generation,
        "modelDigest": digest,
        "resolved": _resolved(view, contents.told(view, before, digest)),
        "engine": {
            **_counts(view.engine),
            "updatedReplicas": count(view.engine, "updatedReplicas"),
            "selector": ",".join(f"{key}={value}" for key, value in names.selector(model, names.ENGINE).items()),
            **({} if warmed is None else {"warmedGraphs": warmed}),
        },
        "gateway": _counts(view.gateway),
        "url": names.url(model),
        "conditions": condition.written(said, before.get("conditions", []), model.generation, now),
    }
    bounded: Object = schema.shortened(found, crd.schema()["properties"]["status"])
    return bounded


def with_removals(wanted: Mapping[str, Any], before: Mapping[str, Any]) -> Object:
    """`wanted` as a merge patch over `before`: fields that are to go are None."""
    gone: Object = {key: None for key in before if key not in wanted}
    inner = {
        key: with_removals(value, before[key])
        if isinstance(value, dict) and isinstance(before.get(key), dict)
        else value
        for key, value in wanted.items()
    }
    return gone | inner


def _counts(deployment: Object | None) -> Object:
    return {"replicas": count(deployment, "replicas"), "readyReplicas": count(deployment, "readyReplicas")}


def _resolved(view: View, told: Mapping[str, str]) -> Object:
    """What pods are made of, which may be older than what this operator would make, and what engines told of theirs."""
    found = {
        "engineImage": _image(view.engine),
        "gatewayImage": _image(view.gateway),
        "revision": told.get("revision") or _revision(view.model),
        "contents": told.get("contents"),
        "templateHash": _annotation(view.engine, HASH),
    }
    return {key: value for key, value in found.items() if value}


def _image(deployment: Object | None) -> str:
    return str(deployment["spec"]["template"]["spec"]["containers"][0].get("image", "")) if deployment else ""


def _annotation(deployment: Object | None, name: str) -> str:
    if deployment is None:
        return ""
    return str(deployment["spec"]["template"]["metadata"].get("annotations", {}).get(name, ""))


def _revision(model: EmbeddingModel) -> str:
    source = model.model.source
    if isinstance(source, HuggingFaceSource):
        return source.revision or ""
    if isinstance(source, PackageSource):
        return source.version
    return source.reference.rpartition("@")[2] if isinstance(source, ImageSource) and "@" in source.reference else ""
