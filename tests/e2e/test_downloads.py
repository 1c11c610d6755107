"""Downloads that go wrong in every way: each is told in SourceReady, nothing wrong is served, and it goes on."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2ekit.client import Client
from e2ekit.hub import Hub, source
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.models import condition, manifest, wait_for, wait_settled
from e2ekit.operator import OperatorProcess
from e2ekit.volumes import Volume, enlarge_disk, small_disk, volume
from e2ekit.waiting import until

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


def cached(disk: Volume, model: Manifest | None = None, stall_s: int = 60) -> Manifest:
    """A model that is downloaded into a volume."""
    download = {"deadlineSeconds": 300, "stallSeconds": stall_s}
    return manifest(model=model or source(), cache={"persistentVolumeClaim": disk.claim, "download": download})


def token(value: str) -> Manifest:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hf"}, "stringData": {"token": value}}


def partials(disk: Volume) -> list[Path]:
    """Files on their way; none where the volume cannot be looked into."""
    return list(disk.folder.glob(".*/*.partial")) if disk.folder else []


def revision(kubectl: Kubectl) -> str:
    """What the status says of the weights."""
    return str(kubectl.get("embeddingmodel", "m")["status"]["resolved"]["revision"])


def test_a_model_is_downloaded_once_into_its_volume_and_served_from_there(
    kubectl: Kubectl, operator: OperatorProcess, hub: Hub, disk: Volume, client: Client
) -> None:
    kubectl.apply(cached(disk))
    wait_settled(kubectl, "m", 200)
    assert condition(kubectl, "m", "SourceReady")[:2] == ("True", "Downloaded")
    url = kubectl.get("embeddingmodel", "m")["status"]["url"]
    assert len(client.embed(url, "m", ["hello"]).encoded) == 1
    kubectl.run("scale", "embeddingmodel/m", "--replicas=2")
    wait_settled(kubectl, "m")
    assert len(hub.asked(WEIGHTS)) == 1


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
