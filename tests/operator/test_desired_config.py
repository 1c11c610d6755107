"""From a spec to what each program reads: keys, and how texts are embedded."""

import json
from collections.abc import Callable
from typing import Any

from desiredkit.objects import pod
from trellis_operator.desired.all import desired
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.spec import EmbeddingModel

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]


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
