"""Downloads that go wrong in every way: each is told in SourceReady, nothing wrong is served, and it goes on."""

import base64
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from e2ekit.client import Client
from e2ekit.hub import CLS, Hub, source
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.models import children, condition, manifest, wait_for, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.rolls import vectors_are
from e2ekit.steady import INPUTS, answers_of, served_model, steady_load
from e2ekit.volumes import Volume, enlarge_disk, small_disk, volume
from e2ekit.waiting import until
from sentence_transformers import SentenceTransformer

pytestmark = pytest.mark.cluster
WEIGHTS = "/cdn/"


@pytest.fixture
def hub(kubectl: Kubectl, client: Client, images: Images, operator: OperatorProcess) -> Hub:
    """A hub that the operator's fetches ask."""
    hub = Hub(kubectl, client, images.operator)
    until(hub.answers, "the hub serves")
    operator.stop()
    operator.flags = ("--resync-seconds", "5", "--fetch-env", f"HF_ENDPOINT={hub.url}")
    operator.start()
    return hub


@pytest.fixture
def disk(kubectl: Kubectl) -> Iterator[Volume]:
    """A volume for one model."""
    with volume(kubectl) as made:
        yield made


def cached(disk: Volume, model: Manifest | None = None, stall_s: int = 60, like: Manifest | None = None) -> Manifest:
    """A model that is downloaded into a volume; all but its source is that of another manifest."""
    made, download = like or manifest(), {"deadlineSeconds": 300, "stallSeconds": stall_s}
    made["spec"] |= {
        "model": model or source(),
        "cache": {"persistentVolumeClaim": disk.claim, "download": download},
    }
    return made


def token(value: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hf"}, "stringData": {"token": value}}


def partials(disk: Volume) -> list[Path]:
    """Files on their way; none where the volume cannot be looked into."""
    return list(disk.folder.glob(".*/*.partial")) if disk.folder else []


def published(disk: Volume) -> set[str]:
    """The folders of sources that are there with all of their files."""
    return {path.name for path in disk.folder.iterdir() if not path.name.startswith(".")} if disk.folder else set()


def folders_read(kubectl: Kubectl) -> set[str]:
    """Those that pods of the model read, also the pods that end."""
    containers = (each for pod in children(kubectl, "m", "pods") for each in pod["spec"]["containers"])
    mounts = (mount for each in containers for mount in each["volumeMounts"] if mount["name"] == "model")
    return {mount["subPath"] for mount in mounts if "subPath" in mount}


def revision(kubectl: Kubectl) -> str:
    """What the status says of the weights."""
    return str(kubectl.get("embeddingmodel", "m")["status"]["resolved"]["revision"])


def ask_anew(kubectl: Kubectl, text: str) -> None:
    kubectl.run("annotate", "embeddingmodel", "m", f"trellis.dev/restart={text}", "--overwrite")


def published_vectors(minilm: Path, folder: Path) -> list[list[str]]:
    """What sentence-transformers makes of INPUTS with `CLS` in place of the model's own files."""
    shutil.copytree(minilm, folder, copy_function=os.symlink)
    for path, text in CLS.items():
        (folder / path).unlink()
        (folder / path).write_text(text, encoding="utf-8")
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    rows = [model.encode(texts).astype("<f4") for texts in INPUTS]
    return [[base64.b64encode(np.ascontiguousarray(row)).decode() for row in found] for found in rows]


def test_a_model_is_downloaded_once_into_its_volume_and_what_its_branch_has_become_when_a_person_asks(
    kubectl: Kubectl,
    operator: OperatorProcess,
    hub: Hub,
    disk: Volume,
    client: Client,
    minilm: Path,
    tmp_path: Path,
) -> None:
    kubectl.apply(cached(disk, like=served_model("m", replicas=1)))
    wait_settled(kubectl, "m", 200)
    assert condition(kubectl, "m", "SourceReady")[:2] == ("True", "Downloaded")
    before, [old] = answers_of(client, kubectl, "m"), folders_read(kubectl)
    commit, second = hub.publish(CLS), published_vectors(minilm, tmp_path / "second")
    with steady_load(client, before, second=second) as load:
        ask_anew(kubectl, "once")
        until(lambda: old not in folders_read(kubectl), "no pod reads the folder of before", 300)
        vectors_are(load, "second")
    [new] = folders_read(kubectl)
    until(lambda: revision(kubectl) == commit, "the status names what the branch has become")

    kubectl.run("scale", "embeddingmodel/m", "--replicas=2")
    wait_settled(kubectl, "m")
    assert folders_read(kubectl) == {new}
    assert len(hub.asked(WEIGHTS)) == 1, "weights that are the same were fetched again"
    assert not disk.folder or published(disk) == {old, new}

    ask_anew(kubectl, "twice")
    until(lambda: not disk.folder or published(disk) - {old, new}, "a third folder is there", 120)
    assert not disk.folder or {old, new} & published(disk) == {new}, "pods read the second, and nobody the first"


def test_a_model_without_a_volume_is_fetched_by_its_pods(kubectl: Kubectl, operator: OperatorProcess, hub: Hub) -> None:
    kubectl.apply(manifest(model=source()))
    wait_settled(kubectl, "m", 200)
    assert condition(kubectl, "m", "SourceReady")[:2] == ("True", "Fetched")
    assert len(hub.asked(WEIGHTS)) == 1, "the gateway fetched weights"
    until(lambda: re.fullmatch("[0-9a-f]{40}", revision(kubectl)), "main has become a commit")


def test_a_download_whose_pod_is_killed_goes_on_where_it_was(
    kubectl: Kubectl, operator: OperatorProcess, hub: Hub, disk: Volume
) -> None:
    hub.fail({"path": WEIGHTS, "after": 40_000_000, "stall_s": 300})
    kubectl.apply(cached(disk))
    until(lambda: hub.asked(WEIGHTS), "the weights are asked for", 90)
    until(lambda: not disk.folder or any(path.stat().st_size == 40_000_000 for path in partials(disk)), "half is there")
    [pod] = kubectl.all("pods", {"app.kubernetes.io/component": "download"})
    kubectl.run("delete", "pod", pod["metadata"]["name"], "--grace-period=0", "--force")
    wait_for(kubectl, "m", "SourceReady", "True", "Downloaded", 120)
    assert hub.asked(WEIGHTS)[-1]["headers"]["Range"] == "bytes=40000000-"


def test_a_stall_is_told_and_overcome(kubectl: Kubectl, operator: OperatorProcess, hub: Hub, disk: Volume) -> None:
    hub.fail({"path": WEIGHTS, "times": 1000, "after": 0, "stall_s": 300})
    kubectl.apply(cached(disk, stall_s=1))
    assert "not a byte for 1 s" in wait_for(kubectl, "m", "SourceReady", "False", "Stalled", 120)
    assert not kubectl.find("deployment", "m-engine")
    hub.fail()
    wait_for(kubectl, "m", "SourceReady", "True", "Downloaded", 150)


def test_a_wrong_token_is_told_and_a_rotated_one_is_tried_at_once(
    kubectl: Kubectl, operator: OperatorProcess, hub: Hub, disk: Volume
) -> None:
    hub.gate("hf_right")
    kubectl.apply(cached(disk, source(tokenSecretRef={"name": "hf"})))
    assert "hf" in wait_for(kubectl, "m", "Accepted", "False", "SecretNotFound")
    kubectl.apply(token("hf_wrong"))
    message = wait_for(kubectl, "m", "SourceReady", "False", "Unauthorized", 120)
    assert "the token is wrong" in message
    assert "hf_wrong" not in message
    kubectl.apply(token("hf_right"))
    wait_for(kubectl, "m", "SourceReady", "True", "Downloaded", 120)


def test_a_hub_that_wants_us_to_wait_is_told_and_asked_again(
    kubectl: Kubectl, operator: OperatorProcess, hub: Hub, disk: Volume
) -> None:
    hub.fail({"path": "/api/", "times": 1000, "status": 429, "headers": {"Retry-After": "3600"}})
    kubectl.apply(cached(disk))
    assert "429" in wait_for(kubectl, "m", "SourceReady", "False", "RateLimited", 120)
    hub.fail()
    wait_for(kubectl, "m", "SourceReady", "True", "Downloaded", 150)


def test_wrong_bytes_are_never_served(kubectl: Kubectl, operator: OperatorProcess, hub: Hub, disk: Volume) -> None:
    hub.fail({"path": WEIGHTS, "times": 1000, "damage": True})
    kubectl.apply(cached(disk))
    message = wait_for(kubectl, "m", "SourceReady", "False", "ChecksumMismatch", 120)
    assert "model.safetensors does not have the checksum" in message
    assert not kubectl.find("deployment", "m-engine")
    hub.fail()
    kubectl.run("annotate", "embeddingmodel", "m", "trellis.dev/restart=again")
    wait_for(kubectl, "m", "SourceReady", "True", "Downloaded", 120)


def test_a_full_disk_is_told_with_what_is_needed_and_goes_on_once_there_is_room(
    kubectl: Kubectl, operator: OperatorProcess, hub: Hub, disk: Volume
) -> None:
    if disk.folder is None:
        pytest.skip("only on a cluster of our own can a disk be made small")
    with small_disk(disk.folder, megabytes=50):
        kubectl.apply(cached(disk))
        message = wait_for(kubectl, "m", "SourceReady", "False", "DiskFull", 120)
        assert "91.6 MB more are needed" in message
        enlarge_disk(disk.folder, 300)
        wait_for(kubectl, "m", "SourceReady", "True", "Downloaded", 150)
        kubectl.delete("embeddingmodel", "m")
        until(lambda: not kubectl.all("pods", {"app.kubernetes.io/instance": "m"}), "nobody uses the disk", 90)
