"""SourceReady of what is fetched: a fetch that failed has a reason of its own, and a download says how it stands."""

from collections.abc import Callable
from typing import Any

import pytest
from statuskit.pods import container, pod, starting, with_pods
from statuskit.said import said
from trellis_operator.desired.download import job_name
from trellis_operator.plan.observed import Observed
from trellis_operator.spec import EmbeddingModel
from trellis_operator.status.status import conditions
from trellis_operator.status.view import View, view

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ('{"reason": "Unauthorized", "message": "the token is wrong"}', "Unauthorized"),
        ("Traceback\nthe last line", "Error"),
        ("", "Error"),
    ],
)
def test_a_fetch_that_failed_tells_its_own_reason(serving: View, message: str, reason: str) -> None:
    ended = {"terminated": {"exitCode": 2, "reason": "Error", "message": message}}
    observed = with_pods(
        starting(serving.observed),
        pod("engine", initContainerStatuses=[container("fetch", state=ended)]),
    )
    found = {each.type: each for each in conditions(view(serving.model, observed, {}))}
    assert (found["SourceReady"].status, found["SourceReady"].reason) == ("False", reason)
    assert found["Ready"].reason == reason


@pytest.mark.parametrize(
    ("job_status", "expected"),
    [
        (None, ("False", "Downloading")),
        ({"active": 1}, ("False", "Downloading")),
        ({"conditions": [{"type": "Complete", "status": "True"}]}, ("True", "Downloaded")),
        (
            {"conditions": [{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]},
            ("False", "DeadlineExceeded"),
        ),
    ],
)
def test_a_download_tells_how_it_stands(
    full: Body, in_cluster: Read, job_status: Body | None, expected: tuple[str, str]
) -> None:
    model = in_cluster(full)
    job = {"kind": "Job", "metadata": {"name": job_name(model, {})}, "status": job_status}
    children = {("Job", job_name(model, {})): job} if job_status is not None else {}
    assert said(view(model, Observed(children), {}))["SourceReady"] == expected
