"""Folders of a cache volume: which one a source has, and which of them a download is told to keep."""

import argparse
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from trellis_operator.desired.all import desired
from trellis_operator.desired.download import job_name
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.hold import hold
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.plan import plan
from trellis_operator.plan.pod_view import pod_view
from trellis_operator.sources.command import FetchOptions, add_fetch_command
from trellis_operator.spec import EmbeddingModel

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]
Observe = Callable[[Iterable[Body]], Observed]
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def one(objects: Iterable[Body], kind: str, name: str = "") -> Body:
    [found] = [each for each in objects if each["kind"] == kind and each["metadata"]["name"].endswith(name)]
    return found


def after(objects: Iterable[Body], flag: str) -> list[str]:
    """What follows a flag of the download."""
    [fetch] = one(objects, "Job")["spec"]["template"]["spec"]["containers"]
    rest = fetch["command"][fetch["command"].index(flag) + 1 :]
    return [each for each in rest if not each.startswith("--")]


def understood(objects: Iterable[Body]) -> FetchOptions:
    """The download's command, as the program that it starts reads it."""
    parser = argparse.ArgumentParser()
    add_fetch_command(parser.add_subparsers())
    [fetch] = one(objects, "Job")["spec"]["template"]["spec"]["containers"]
    return FetchOptions.from_arguments(parser.parse_args(fetch["command"][3:]))


def folder(objects: Iterable[Body]) -> str:
    """The one that engines read."""
    [container] = one(objects, "Deployment", "-engine")["spec"]["template"]["spec"]["containers"]
    return str(next(each["subPath"] for each in container["volumeMounts"] if each["name"] == "model"))


def pod(claim: str, path: str) -> Body:
    """A pod of the model that reads a folder of a claim."""
    mounts = [{"name": "scratch"}, {"name": "model", "subPath": path}]
    volumes = [{"name": "scratch", "emptyDir": {}}, {"name": "model", "persistentVolumeClaim": {"claimName": claim}}]
    return {
        "metadata": {"name": "p", "labels": {"app.kubernetes.io/instance": "qwen3-embed"}},
        "spec": {"containers": [{"volumeMounts": mounts}], "volumes": volumes},
    }


@pytest.fixture
def restarted(full: Body, in_cluster: Read) -> Callable[[Body, str], EmbeddingModel]:
    """A cached model of a source, with a text in its restart annotation."""

    def read(source: Body, text: str) -> EmbeddingModel:
        full["spec"]["model"]["source"] = source
        full["metadata"]["annotations"] = {"trellis.dev/restart": text} if text else {}
        return in_cluster(full)

    return read


@pytest.mark.parametrize(
    ("source", "anew"),
    [
        ({"huggingFace": {"repo": "a/b", "revision": "main"}}, True),
        ({"s3": {"uri": "s3://models/m"}}, True),
        ({"huggingFace": {"repo": "a/b", "revision": COMMIT}}, False),
        ({"package": {"name": "a", "version": "1", "path": "m"}}, False),
    ],
)
def test_a_restart_asks_a_source_that_can_change_for_what_it_has_now_in_a_folder_of_its_own(
    restarted: Callable[[Body, str], EmbeddingModel], setting: ClusterSetting, source: Body, anew: bool
) -> None:
    models = [restarted(source, text) for text in ("", "one", "two", "one")]
    never, first, second, again = (folder(desired(each, setting, {})) for each in models)
    assert first == again
    assert len({never, first, second}) == (3 if anew else 1)
    for model in models:
        objects = desired(model, setting, {})
        assert after(objects, "--to")[0] == f"/models/{folder(objects)}"
    assert len({job_name(each, {}) for each in models}) == 3


def test_a_download_keeps_what_templates_and_pods_read_also_those_that_end(
    restarted: Callable[[Body, str], EmbeddingModel], setting: ClusterSetting, as_observed: Observe
) -> None:
    old = desired(restarted({"s3": {"uri": "s3://models/old"}}, ""), setting, {})
    leaving = pod("qwen3-embed-model", "older")
    leaving["metadata"]["deletionTimestamp"] = "now"
    observed = Observed(as_observed(old).children, (pod_view(leaving), pod_view({"metadata": {"name": "bare"}})))
    assert observed.folders_read == {folder(old), "older"}
    new = desired(restarted({"s3": {"uri": "s3://models/new"}}, ""), setting, {}, observed.folders_read)
    assert after(new, "--keep") == sorted([folder(old), "older"])
    assert folder(new) not in after(new, "--keep")


@pytest.mark.parametrize("path", ["models/minilm", "minilm", "./"])
def test_a_model_moves_from_a_claim_of_its_own_to_a_download_that_keeps_nothing_of_it(
    restarted: Callable[[Body, str], EmbeddingModel], setting: ClusterSetting, as_observed: Observe, path: str
) -> None:
    old = desired(restarted({"pvc": {"claimName": "weights", "path": path}}, ""), setting, {})
    template = one(old, "Deployment", "-engine")["spec"]["template"]
    running = pod_view({"metadata": {"name": "p", **template["metadata"]}, "spec": template["spec"]})
    observed = Observed(as_observed(old).children, (running,))
    new = desired(restarted({"s3": {"uri": "s3://models/new"}}, ""), setting, {}, observed.folders_read)
    assert understood(new).keep == frozenset()


def test_a_folder_within_one_of_a_download_keeps_all_of_it(
    restarted: Callable[[Body, str], EmbeddingModel], setting: ClusterSetting
) -> None:
    observed = Observed({}, (pod_view(pod("qwen3-embed-model", "older/onnx")),))
    new = desired(restarted({"s3": {"uri": "s3://models/new"}}, ""), setting, {}, observed.folders_read)
    assert understood(new).keep == {"older"}


def test_a_download_is_no_other_one_because_pods_read_other_folders_by_now(
    restarted: Callable[[Body, str], EmbeddingModel], setting: ClusterSetting, as_observed: Observe
) -> None:
    model = restarted({"s3": {"uri": "s3://models/m"}}, "")
    observed = as_observed(desired(model, setting, {}, ["old"]))
    assert not plan(hold(desired(model, setting, {}, ["new"]), observed, waits=False), observed)
