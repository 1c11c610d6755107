"""A Deployment whose annotations say what was asked for and what was made of it.

`trellis.dev/intent` is what a person asked, `trellis.dev/template` the pod template that an operator made of it.
Another operator version, with other defaults, finds both and keeps the template as long as the intent is the same.
"""

import json
from typing import Any

from trellis_operator import intent as intents
from trellis_operator.desired import names
from trellis_operator.desired.child import Object, child
from trellis_operator.kinds import DEPLOYMENT
from trellis_operator.spec import EmbeddingModel

INTENT = "trellis.dev/intent"
TEMPLATE = "trellis.dev/template"
DIGEST = "trellis.dev/model-digest"
HASH = "trellis.dev/template-hash"


def deployment(
    model: EmbeddingModel, name: str, component: str, intent: intents.Intent, pod: Object, digest: str, **fields: Any
) -> Object:
    """A Deployment of pods like `pod`, which serve `digest`; `fields` are what stands beside selector and template."""
    wish = intents.written(intent)
    template = {
        "metadata": {
            "labels": names.labels(model, component),
            "annotations": _template_annotations(digest, wish),
        },
        "spec": pod,
    }
    return child(
        DEPLOYMENT,
        model,
        name,
        component,
        annotations={INTENT: wish, TEMPLATE: written_template(template)},
        spec={
            "selector": {"matchLabels": names.selector(model, component)},
            "template": template,
            "revisionHistoryLimit": 2,
            **fields,
        },
    )


def written_template(template: Object) -> str:
    """A pod template as an annotation keeps it."""
    return json.dumps(template, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _template_annotations(digest: str, wish: str) -> dict[str, str]:
    """The hash makes new pods where only a Secret's content or the restart annotation has changed."""
    return {DIGEST: digest, HASH: names.short_hash(wish)}
