"""Accepted: what the cluster refuses, or lacks, of what a manifest asks for."""

from statuskit.said import said
from trellis_operator.plan.observed import Observed
from trellis_operator.status.refusal import Refusal, name_taken, refusal
from trellis_operator.status.status import conditions
from trellis_operator.status.view import View, view


def test_what_was_refused_is_said_and_what_serves_goes_on_serving(serving: View) -> None:
    refused = refusal(("Deployment", "x-engine"), 403, "exceeded quota: team")
    found = {each.type: each for each in conditions(view(serving.model, serving.observed, {}, refusals=[refused]))}
    assert (found["Accepted"].status, found["Accepted"].reason) == ("False", "QuotaExceeded")
    assert "raise the ResourceQuota" in found["Accepted"].message
    assert found["Degraded"].holds
    assert found["Ready"].holds


def test_a_name_that_someone_else_has_is_left_alone_and_told(serving: View) -> None:
    taken: Refusal = name_taken(("Service", "all-minilm-l6-v2"))
    found = said(view(serving.model, Observed(), {}, refusals=[taken]))
    assert found["Accepted"] == ("False", "NameTaken")
    assert found["Ready"] == ("False", "NameTaken")


def test_a_missing_secret_or_kind_is_told(serving: View) -> None:
    assert said(view(serving.model, serving.observed, {}, missing_secrets=["keys"]))["Accepted"][1] == "SecretNotFound"
    assert (
        said(view(serving.model, serving.observed, {}, missing_kinds=["HTTPRoute"]))["Accepted"][1] == "KindNotServed"
    )


def test_a_source_that_cannot_be_had_is_told_before_its_pods_fail(serving: View) -> None:
    found = said(view(serving.model, Observed(), {}, source_lacks=("PathNeeded", "name the folder")))
    assert found["Accepted"] == found["Ready"] == ("False", "PathNeeded")
