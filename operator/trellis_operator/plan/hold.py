"""Keeps pod templates that nobody asked to change: pods roll for a person's wish, never for an operator's.

Never knows how a template is built.
"""

import json
from collections.abc import Iterable

from trellis_operator import intent as intents
from trellis_operator.desired import names
from trellis_operator.desired.child import Object
from trellis_operator.desired.deployment import DIGEST, INTENT, TEMPLATE
from trellis_operator.kinds import DEPLOYMENT
from trellis_operator.plan.observed import Observed
from trellis_operator.spec import EmbeddingModel


def hold(fresh: Iterable[Object], observed: Observed, waits: bool) -> list[Object]:
    """Replace the template of each Deployment by the one that it has, where that is still what is asked for.

    Args:
        fresh: objects as this operator would make them.
        observed: what is there.
        waits: whether pods of a new template could not start yet. Those that are there keep theirs, and a
            Deployment that is not there is left out.
    """
    return [kept for each in fresh if (kept := _held(each, observed, waits)) is not None]


def digest_in_force(model: EmbeddingModel, observed: Observed) -> str:
    """The digest that engines carry, where they still serve what is asked for; else the one that is made here.

    Another operator version may count other fields into a digest. Gateways and engines must agree on one.
    """
    deployment = observed.get(DEPLOYMENT, names.engine(model))
    if deployment is None:
        return model.engine_digest
    annotations = deployment["metadata"].get("annotations", {})
    template = _template(annotations)
    if template is None or not intents.same_vectors(annotations.get(INTENT, ""), intents.engine_intent(model)):
        return model.engine_digest
    return str(template["metadata"]["annotations"].get(DIGEST, model.engine_digest))


def _held(fresh: Object, observed: Observed, waits: bool) -> Object | None:
    if fresh["kind"] != DEPLOYMENT.name:
        return fresh
    seen = observed.get(DEPLOYMENT, fresh["metadata"]["name"])
    if seen is None:
        return None if waits else fresh
    annotations = seen["metadata"].get("annotations", {})
    template = _template(annotations)
    wish = json.loads(fresh["metadata"]["annotations"][INTENT])
    if template is None or not (waits or intents.same(annotations.get(INTENT, ""), wish)):
        return fresh
    kept = {INTENT: annotations[INTENT], TEMPLATE: annotations[TEMPLATE]}
    metadata = fresh["metadata"] | {"annotations": fresh["metadata"]["annotations"] | kept}
    return fresh | {"metadata": metadata, "spec": fresh["spec"] | {"template": template}}


def _template(annotations: Object) -> Object | None:
    """The template as an operator wrote it down; None where someone took it away or spoilt it."""
    try:
        template: Object = json.loads(annotations[TEMPLATE])
        return template if INTENT in annotations and template["spec"]["containers"] else None
    except (ValueError, TypeError, KeyError):
        return None
