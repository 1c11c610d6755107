"""What a real API server says no with, to pods and claims, has the reason that the status would give."""

from typing import Any

import pytest
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.pods import script_pod
from e2ekit.waiting import until
from trellis_operator.status.refusal import explained

pytestmark = pytest.mark.cluster


def pod(resources: Manifest | None = None, **spec: Any) -> Manifest:
    """A pod that this namespace takes, but for what is said here."""
    _, made = script_pod("trial", "image:1", ["true"], {})
    made["spec"] |= spec
    made["spec"]["containers"][0]["resources"] = resources or {}
    return made


def reason(kubectl: Kubectl, manifest: Manifest) -> str:
    """What the status would call the refusal; empty where it is taken."""
    said = kubectl.refusal(manifest)
    return explained(403, said)[0] if said else ""


def test_each_plugin_of_the_api_server_is_known_by_its_words(kubectl: Kubectl) -> None:
    assert reason(kubectl, pod()) == ""
    assert reason(kubectl, pod(priorityClassName="no-such-class")) == "PriorityClassRefused"
    assert reason(kubectl, pod(runtimeClassName="no-such-class")) == "RuntimeClassRefused"
    assert reason(kubectl, pod(hostNetwork=True)) == "PodSecurityViolation"
    assert reason(kubectl, pod(tolerations=[{"operator": "Guess"}])) == "Invalid"
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
    kubectl.apply(quota | {"spec": {"hard": {"requests.cpu": "1"}}})
    until(lambda: kubectl.get("resourcequota", "q").get("status", {}).get("used"), "the quota is counted")
    assert reason(kubectl, pod()) == "QuotaExceeded"
    assert reason(kubectl, pod({"requests": {"cpu": "2"}})) == "QuotaExceeded"
    limit = {"type": "Container", "max": {"memory": "1Gi"}}
    limits = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": {"limits": [limit]}}
    kubectl.apply(limits)
    large = pod({"requests": {"cpu": "1"}, "limits": {"memory": "2Gi"}})
    until(lambda: reason(kubectl, large) == "LimitRange", "the API server has seen the LimitRange")
