"""From a spec to objects: what a cluster is asked for."""

import dataclasses
from collections.abc import Callable
from typing import Any

from desiredkit.objects import one, refs
from trellis_operator.desired.all import desired, missing_kinds
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.spec import EmbeddingModel

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]

ALWAYS = [
    ("ServiceAccount", "all-minilm-l6-v2-engine"),
    ("ServiceAccount", "all-minilm-l6-v2-gateway"),
    ("Role", "all-minilm-l6-v2-gateway"),
    ("RoleBinding", "all-minilm-l6-v2-gateway"),
    ("Service", "all-minilm-l6-v2-engines"),
    ("Service", "all-minilm-l6-v2"),
    ("NetworkPolicy", "all-minilm-l6-v2-engine"),
    ("PodDisruptionBudget", "all-minilm-l6-v2-engine"),
    ("PodDisruptionBudget", "all-minilm-l6-v2-gateway"),
    ("Deployment", "all-minilm-l6-v2-engine"),
    ("Deployment", "all-minilm-l6-v2-gateway"),
]


def test_a_small_manifest_becomes_these_objects_and_no_other(
    minimal: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    setting = dataclasses.replace(setting, served=frozenset())
    found = refs(desired(in_cluster(minimal), setting, {}))
    assert [each for each in found if each[0] != "ConfigMap"] == ALWAYS
    configs = [name for kind, name in found if kind == "ConfigMap"]
    assert len(configs) == 2
    assert all(name.startswith("all-minilm-l6-v2-embedding-") for name in configs)
    minimal["spec"]["embedding"] = {}
    assert len([each for each in refs(desired(in_cluster(minimal), setting, {})) if each[0] == "ConfigMap"]) == 1


def test_a_full_manifest_adds_a_claim_a_job_an_autoscaler_a_monitor_and_a_route(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    kinds = [kind for kind, _ in refs(desired(in_cluster(full), setting, {}))]
    assert {"PersistentVolumeClaim", "Job", "HorizontalPodAutoscaler", "PodMonitor", "HTTPRoute"} <= set(kinds)


def test_what_pods_need_is_applied_before_what_makes_pods(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    kinds = [kind for kind, _ in refs(desired(in_cluster(full), setting, {}))]
    for needed in ("ServiceAccount", "RoleBinding", "ConfigMap", "PersistentVolumeClaim", "NetworkPolicy"):
        assert kinds.index(needed) < kinds.index("Job") < kinds.index("Deployment")


def test_each_object_goes_with_its_model_and_says_whose_it_is(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    for each in desired(in_cluster(full), setting, {}):
        metadata = each["metadata"]
        assert metadata["namespace"] == "search"
        assert [owner["uid"] for owner in metadata["ownerReferences"]] == ["uid-1"]
        assert "blockOwnerDeletion" not in metadata["ownerReferences"][0]
        assert metadata["labels"]["app.kubernetes.io/managed-by"] == "trellis"
        assert metadata["labels"]["app.kubernetes.io/instance"] == "qwen3-embed"
        assert "finalizers" not in metadata


def test_every_pod_passes_the_restricted_level(full: Body, in_cluster: Read, setting: ClusterSetting) -> None:
    objects = desired(in_cluster(full), setting, {})
    specs = [each["spec"]["template"]["spec"] for each in objects if each["kind"] in ("Deployment", "Job")]
    assert len(specs) == 3
    for spec in specs:
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for each in [*spec["containers"], *spec.get("initContainers", [])]:
            assert each["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
                "readOnlyRootFilesystem": True,
            }


def test_suspending_takes_all_pods_and_the_autoscaler_and_nothing_else(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    before = refs(desired(in_cluster(full), setting, {}))
    full["spec"]["suspend"] = True
    after = desired(in_cluster(full), setting, {})
    assert [each["spec"]["replicas"] for each in after if each["kind"] == "Deployment"] == [0, 0]
    assert set(before) - set(refs(after)) == {("HorizontalPodAutoscaler", "qwen3-embed-engine")}


def test_the_autoscaler_scales_the_model_and_the_operator_follows(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    full["spec"]["engine"]["replicas"] = 5
    objects = desired(in_cluster(full), setting, {})
    target = one(objects, "HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
    assert target == {"apiVersion": "trellis.dev/v1alpha1", "kind": "EmbeddingModel", "name": "qwen3-embed"}
    assert one(objects, "Deployment", "engine")["spec"]["replicas"] == 5


def test_optional_kinds_are_made_only_where_they_are_served(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    bare = dataclasses.replace(setting, served=frozenset())
    full["spec"]["monitoring"] = {"podMonitor": "enabled"}
    model = in_cluster(full)
    assert not {"PodMonitor", "HTTPRoute"} & {kind for kind, _ in refs(desired(model, bare, {}))}
    assert missing_kinds(model, bare) == ["PodMonitor", "HTTPRoute"]
    assert missing_kinds(model, setting) == []
