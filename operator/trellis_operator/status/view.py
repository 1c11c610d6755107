"""What the conditions are judged from: one look at a model and all that was observed of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trellis_operator.desired import download, names
from trellis_operator.kinds import CLAIM, DEPLOYMENT, JOB, SCALED_OBJECT
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.warmth import Warmth
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.refusal import Refusal

Object = dict[str, Any]


@dataclass(frozen=True)
class View:
    """One model.

    Attributes:
        job: name of the download Job, where the source needs one.
        refusals: what the API server did not take in the last visit.
        missing_secrets: Secrets that the manifest names and that do not exist.
        missing_kinds: kinds that the manifest asks for and that the API server does not know.
        source_lacks: a reason and what to do, where the source cannot be had as this operator would.
        scaler_lacks: a reason and what to do, where the model could only be autoscaled in part.
        contested: objects that someone else changes again and again, each as a sentence.
        rewritten: objects that came out of the API server otherwise than they were applied, each as a sentence.
        warmth: what engines tell of their warm-up and of what they hold, those that do.
    """

    model: EmbeddingModel
    observed: Observed
    job_name: str | None = None
    refusals: Sequence[Refusal] = ()
    missing_secrets: Sequence[str] = ()
    missing_kinds: Sequence[str] = ()
    source_lacks: tuple[str, str] | None = None
    scaler_lacks: tuple[str, str] | None = None
    contested: Sequence[str] = ()
    rewritten: Sequence[str] = ()
    warmth: Sequence[Warmth] = ()

    @property
    def engine(self) -> Object | None:
        """The engine Deployment."""
        return self.observed.get(DEPLOYMENT, names.engine(self.model))

    @property
    def gateway(self) -> Object | None:
        """The gateway Deployment."""
        return self.observed.get(DEPLOYMENT, names.gateway(self.model))

    @property
    def scaled_object(self) -> Object | None:
        """KEDA's object."""
        return self.observed.get(SCALED_OBJECT, names.engine(self.model))

    @property
    def asleep(self) -> bool:
        """Whether there is no engine because nobody asks, and a request would bring one back."""
        return self.model.engine.wakes and not self.model.engine.replicas and self.scaler_lacks is None

    @property
    def job(self) -> Object | None:
        """The download Job."""
        return self.observed.get(JOB, self.job_name) if self.job_name else None

    @property
    def claim(self) -> Object | None:
        """The volume claim that is made for the model."""
        return self.observed.get(CLAIM, names.model_claim(self.model))


def view(model: EmbeddingModel, observed: Observed, secrets: dict[str, str], **more: Any) -> View:
    """Look at a model; `more` are the fields that come from the visit itself."""
    job = download.job_name(model, secrets) if names.is_downloaded(model) else None
    return View(model, observed, job, **more)


def count(deployment: Object | None, field: str) -> int:
    """A number of a Deployment's status."""
    return int(deployment.get("status", {}).get(field, 0)) if deployment else 0


def condition_of(owner: Object | None, kind: str) -> Object:
    """A condition of a child's own status; empty where it has none of that type."""
    conditions = owner.get("status", {}).get("conditions", []) if owner else []
    return next((each for each in conditions if each["type"] == kind), {})


def is_true(owner: Object | None, kind: str) -> bool:
    """Whether a condition of a child's own status holds."""
    return bool(condition_of(owner, kind).get("status") == "True")
