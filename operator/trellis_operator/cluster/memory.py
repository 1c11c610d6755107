"""What is remembered of one model between visits. All of it may be lost: the next visit only costs a little more."""

import time
from dataclasses import dataclass, field
from typing import Any

from trellis_operator import crd, schema
from trellis_operator.cluster.patience import Patience
from trellis_operator.plan.observed import Ref
from trellis_operator.plan.plan import Plan
from trellis_operator.plan.rewritten import Rewritten
from trellis_operator.spec import EmbeddingModel

Object = dict[str, Any]


@dataclass
class Memory:
    """Of one model.

    Attributes:
        patience: with objects that do not stay as they were applied.
        rewritten: objects that came out of the API server otherwise than we applied them.
        status_said: the last status that was written.
        status_seen: what came out of it; an older CRD drops fields.
        warming: whether an engine with graphs starts, as far as is known.
        untold: whether the last status that was to be written was refused.
        untold_at: when an event last told of that, by the reason, in seconds of `time.monotonic`.
        sure_at: when the API server last said that the model is there, in seconds of `time.monotonic`.
    """

    patience: Patience = field(default_factory=Patience)
    rewritten: dict[Ref, Rewritten] = field(default_factory=dict)
    status_said: Object | None = None
    status_seen: Object | None = None
    warming: bool = False
    untold: bool = False
    untold_at: dict[str, float] = field(default_factory=dict)
    sure_at: float = field(default_factory=time.monotonic)
    _parsed: tuple[object, EmbeddingModel] | None = None

    def keep_rewritten(self, todo: Plan) -> None:
        """Forget those of which a plan says that they are as wanted now."""
        kept = todo.left_alone | todo.targets
        self.rewritten = {target: each for target, each in self.rewritten.items() if target in kept}

    def model(self, body: Object) -> EmbeddingModel:
        """The model of a body; read anew only where it says something else.

        The API server has checked it, perhaps against another version of the CRD: fields that this version does not
        know are left out, and what it misses has its default.
        """
        metadata = body["metadata"]
        told = (metadata["uid"], metadata.get("generation"), metadata.get("annotations"))
        if self._parsed is None or self._parsed[0] != told:
            rules = crd.schema()["properties"]["spec"]
            spec = schema.with_defaults(schema.pruned(body["spec"], rules), rules)
            self._parsed = (told, EmbeddingModel.from_body({"metadata": metadata, "spec": spec}))
        return self._parsed[1]
