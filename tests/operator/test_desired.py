"""From a spec to objects: what a cluster is asked for."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
from trellis_operator.desired.all import desired, missing_kinds, secret_names
from trellis_operator.desired.model_volume import source_lacks
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


def refs(objects: list[Body]) -> list[tuple[str, str]]:
    return [(each["kind"], each["metadata"]["name"]) for each in objects]


def one(objects: list[Body], kind: str, ending: str = "") -> Body:
    [found] = [each for each in objects if each["kind"] == kind and each["metadata"]["name"].endswith(ending)]
    return found


def pod(objects: list[Body], component: str) -> Body:
    spec: Body = one(objects, "Deployment", component)["spec"]["template"]["spec"]
    return spec


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


def test_engines_get_no_token_and_gateways_may_only_read_endpoint_slices(
    minimal: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    objects = desired(in_cluster(minimal), setting, {})
    assert pod(objects, "engine")["automountServiceAccountToken"] is False
    assert one(objects, "Role")["rules"] == [
        {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["get", "list", "watch"]}
    ]


def test_engines_are_reached_by_their_gateways_and_by_prometheus_alone(
    minimal: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    spec = one(desired(in_cluster(minimal), setting, {}), "NetworkPolicy")["spec"]
    selector = {"app.kubernetes.io/instance": "all-minilm-l6-v2", "app.kubernetes.io/component": "gateway"}
    [gateways, prometheus] = spec["ingress"]
    assert gateways == {
        "from": [{"podSelector": {"matchLabels": selector}}],
        "ports": [{"port": 50051, "protocol": "TCP"}],
    }
    assert prometheus["ports"] == [{"port": 9101, "protocol": "TCP"}]


def test_an_engine_on_an_accelerator_is_told_to_use_it_and_gets_one(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    [engine] = pod(desired(in_cluster(full), setting, {}), "engine")["containers"]
    assert engine["resources"] == {
        "requests": {"cpu": 2, "memory": "8Gi"},
        "limits": {"memory": "8Gi", "nvidia.com/gpu": "1"},
    }
    assert engine["command"][engine["command"].index("--device") + 1] == "cuda"


@pytest.mark.parametrize(
    ("resource", "device"),
    [
        (None, "cpu"),
        ("nvidia.com/gpu", "cuda"),
        ("example.com/accelerator", "auto"),
        ("trellis.dev/cpu-graphs", "cpu-graphs"),
    ],
)
def test_where_an_engine_runs_follows_its_accelerator(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, resource: str | None, device: str
) -> None:
    minimal["spec"]["engine"] = {"accelerator": {"resourceName": resource}} if resource else {}
    [engine] = pod(desired(in_cluster(minimal), setting, {}), "engine")["containers"]
    assert engine["command"][engine["command"].index("--device") + 1] == device
    assert ("--graphs" in engine["command"]) is (resource is not None)


@pytest.mark.parametrize(
    ("engine", "asks"),
    [({"accelerator": {}}, True), ({}, False), ({"accelerator": {}, "cudaGraphs": {"mode": "off"}}, False)],
)
def test_the_operator_may_ask_engines_that_can_have_graphs_and_no_others(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, engine: Body, asks: bool
) -> None:
    minimal["spec"]["engine"] = engine
    setting = dataclasses.replace(setting, operator_namespace="trellis-system")
    [callers, prometheus] = one(desired(in_cluster(minimal), setting, {}), "NetworkPolicy")["spec"]["ingress"]
    operator = {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "trellis-system"}},
        "podSelector": {"matchLabels": {"app.kubernetes.io/component": "operator"}},
    }
    assert (operator in callers["from"]) is asks
    assert operator not in prometheus["from"]


def test_an_engine_takes_as_many_threads_as_it_gets_cores(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    [engine] = pod(desired(in_cluster(full), setting, {}), "engine")["containers"]
    assert engine["command"][engine["command"].index("--threads") + 1] == "2"


def test_a_warm_up_may_last_as_long_as_it_is_allowed_before_any_probe_kills(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    [engine] = pod(desired(in_cluster(full), setting, {}), "engine")["containers"]
    startup = engine["startupProbe"]
    # And then some: the engine ends itself after that time, and says what it waited for.
    assert startup["periodSeconds"] * startup["failureThreshold"] > 600
    assert engine["command"][engine["command"].index("--warmup-timeout-seconds") + 1] == "600"
    assert startup["grpc"] == {"port": 50051, "service": "readiness"}
    assert engine["livenessProbe"]["grpc"] == {"port": 50051, "service": "liveness"}


@pytest.mark.parametrize("component", ["engine", "gateway"])
def test_a_pod_is_given_longer_to_stop_than_its_drain_lasts(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, component: str
) -> None:
    minimal["spec"]["engine"]["drain"] = {"delaySeconds": 20, "timeoutSeconds": 100}
    assert pod(desired(in_cluster(minimal), setting, {}), component)["terminationGracePeriodSeconds"] > 120


def test_no_gateway_goes_before_a_new_one_serves_and_engines_stay_until_gateways_have_moved(
    minimal: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    objects = desired(in_cluster(minimal), setting, {})
    assert one(objects, "Deployment", "gateway")["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert one(objects, "Deployment", "engine")["spec"]["minReadySeconds"] > 10


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


def source_of(body: Body, source: Body) -> Body:
    body["spec"]["model"]["source"] = source
    return body


def test_a_package_is_fetched_before_the_programs_of_each_pod_and_gateways_take_no_weights(
    minimal: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    objects = desired(in_cluster(minimal), setting, {})
    parts = {}
    for component in ("engine", "gateway"):
        [fetch] = pod(objects, component)["initContainers"]
        assert fetch["image"] == "f:1"
        parts[component] = fetch["command"][fetch["command"].index("--part") + 1]
    assert parts == {"engine": "all", "gateway": "tokenizer"}


def test_secrets_of_a_source_reach_the_fetch_as_environment_and_never_as_arguments(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    [fetch] = one(desired(in_cluster(full), setting, {}), "Job")["spec"]["template"]["spec"]["containers"]
    reference = {"secretKeyRef": {"name": "hf", "key": "token"}}
    assert {"name": "HF_TOKEN", "valueFrom": reference} in fetch["env"]
    assert not any("hf" in argument for argument in fetch["command"])


def test_a_cached_model_is_downloaded_by_a_job_and_mounted_from_the_folder_that_it_fills(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    objects = desired(in_cluster(full), setting, {})
    [fetch] = one(objects, "Job")["spec"]["template"]["spec"]["containers"]
    filled = fetch["command"][fetch["command"].index("--to") + 1].rpartition("/")[2]
    for component in ("engine", "gateway"):
        spec = pod(objects, component)
        assert "initContainers" not in spec
        [mount] = [each for each in spec["containers"][0]["volumeMounts"] if each["name"] == "model"]
        assert mount == {"name": "model", "mountPath": "/models/model", "readOnly": True, "subPath": filled}


def test_a_download_is_measured_where_the_pod_monitor_asks(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    objects = desired(in_cluster(full), setting, {})
    template = one(objects, "Job")["spec"]["template"]
    [fetch] = template["spec"]["containers"]
    [port] = fetch["ports"]
    monitor = one(objects, "PodMonitor")["spec"]
    assert port["name"] in {each["port"] for each in monitor["podMetricsEndpoints"]}
    assert f"0.0.0.0:{port['containerPort']}" == fetch["command"][fetch["command"].index("--metrics-listen") + 1]
    assert monitor["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()


def test_another_token_is_another_download(full: Body, in_cluster: Read, setting: ClusterSetting) -> None:
    model = in_cluster(full)
    assert secret_names(model) == ["hf", "keys"]
    jobs = {one(desired(model, setting, {"hf": token}), "Job")["metadata"]["name"] for token in ("one", "two", "one")}
    assert len(jobs) == 2


def test_the_secret_of_a_source_is_looked_for_also_where_each_pod_fetches_for_itself(
    full: Body, in_cluster: Read
) -> None:
    del full["spec"]["cache"]
    assert secret_names(in_cluster(full)) == ["hf", "keys"]
    bucket = {"uri": "s3://models/minilm", "secretRef": {"name": "bucket"}}
    assert secret_names(in_cluster(source_of(full, {"s3": bucket}))) == ["bucket", "keys"]
    assert secret_names(in_cluster(source_of(full, {"pvc": {"claimName": "weights"}}))) == ["keys"]


def test_a_claim_that_exists_is_mounted_read_only(minimal: Body, in_cluster: Read, setting: ClusterSetting) -> None:
    body = source_of(minimal, {"pvc": {"claimName": "weights", "path": "minilm/v2"}})
    spec = pod(desired(in_cluster(body), setting, {}), "engine")
    assert {"name": "model", "persistentVolumeClaim": {"claimName": "weights", "readOnly": True}} in spec["volumes"]
    assert spec["containers"][0]["volumeMounts"][1]["subPath"] == "minilm/v2"


@pytest.mark.parametrize("volumes", [True, False])
def test_an_image_is_mounted_where_nodes_can_and_copied_elsewhere(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, volumes: bool
) -> None:
    body = source_of(minimal, {"image": {"reference": "models/minilm@sha256:1", "path": "model"}})
    setting = dataclasses.replace(setting, image_volumes=volumes)
    spec = pod(desired(in_cluster(body), setting, {}), "engine")
    if volumes:
        image = {"reference": "models/minilm@sha256:1", "pullPolicy": "IfNotPresent"}
        assert {"name": "model", "image": image} in spec["volumes"]
    else:
        [copy] = spec["initContainers"]
        assert copy["image"] == "models/minilm@sha256:1"
        assert copy["command"] == ["cp", "-a", "-T", "/model", "/models/model"]


@pytest.mark.parametrize(
    ("path", "volumes", "lacks"), [(None, False, True), ("./", False, True), (None, True, False), ("m", False, False)]
)
def test_an_image_cannot_be_copied_as_a_whole(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, path: str | None, volumes: bool, lacks: bool
) -> None:
    image = {"reference": "models/minilm@sha256:1"} | ({} if path is None else {"path": path})
    model = in_cluster(source_of(minimal, {"image": image}))
    found = source_lacks(model, dataclasses.replace(setting, image_volumes=volumes))
    assert (found is not None and found[0] == "PathNeeded") is lacks


def test_keys_are_files_of_the_gateway_alone(full: Body, in_cluster: Read, setting: ClusterSetting) -> None:
    objects = desired(in_cluster(full), setting, {})
    assert {"name": "api-keys", "secret": {"secretName": "keys"}} in pod(objects, "gateway")["volumes"]
    assert "keys" not in json.dumps(pod(objects, "engine"))


def test_engines_do_not_see_what_is_said_to_gateways_of_texts(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    objects = desired(in_cluster(full), setting, {})
    maps = {each["metadata"]["name"]: each["data"] for each in objects if each["kind"] == "ConfigMap"}
    read = {
        component: json.loads(maps[volume["configMap"]["name"]]["embedding.json"])
        for component in ("engine", "gateway")
        for volume in pod(objects, component)["volumes"]
        if volume["name"] == "config"
    }
    assert read["gateway"] == full["spec"]["embedding"]
    apart = {"prompts", "defaultPrompt", "truncation", "lateChunking", "documentWindows"}
    assert read["gateway"].keys() - read["engine"].keys() == apart
    assert len(maps) == 2


def test_another_embedding_is_another_config_map_and_so_other_pods(
    minimal: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    def maps(objects: list[Body]) -> set[str]:
        volumes = [each for component in ("engine", "gateway") for each in pod(objects, component)["volumes"]]
        read = {each["configMap"]["name"] for each in volumes if "configMap" in each}
        assert read == {each["metadata"]["name"] for each in objects if each["kind"] == "ConfigMap"}
        return read

    before = maps(desired(in_cluster(minimal), setting, {}))
    minimal["spec"]["embedding"]["pooling"] = "cls"
    after = maps(desired(in_cluster(minimal), setting, {}))
    assert not before & after
