"""An S3 server inside the network of our own cluster: versitygw, which the cluster tool builds.

`python -m e2ekit.store URL BUCKET FOLDER` fills a bucket with a folder, by a client that is not ours.
"""

import os
import subprocess
import sys
from pathlib import Path

import minio
from e2ekit.client import Client
from e2ekit.cluster import Cluster, checked
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.waiting import until
from roadkit.ports import free_ports

KEY, SECRET = "trellis-key", "trellis-secret"
_FILL_S = 60


class Store:
    """The server as a process beside the nodes; pods reach it at the address of one of them."""

    def __init__(self, cluster: Cluster, kubectl: Kubectl, folder: Path) -> None:
        cluster.tool("build", "versitygw")
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        (folder / "data").mkdir(parents=True)
        (folder / "meta").mkdir()
        [port] = free_ports(1)
        self._cluster = cluster
        self.url = f"http://{_address(kubectl)}:{port}"
        options = ("--port", f"0.0.0.0:{port}", "--health", "/health", "--quiet")
        posix = ("posix", "--sidecar", str(folder / "meta"), str(folder / "data"))
        self._process = subprocess.Popen(
            [*cluster.enter, str(cache / "trellis/cluster/bin/versitygw"), *options, *posix],
            env=os.environ | {"ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )

    def await_answer(self, client: Client) -> None:
        """Wait until pods reach it."""
        until(lambda: client.request("GET", f"{self.url}/health").status == 200, "the S3 server serves", 30)

    def fill(self, bucket: str, folder: Path) -> None:
        """Put the files of a folder into a bucket, over those that are there."""
        paths = os.pathsep.join(sys.path)
        command = ["env", f"PYTHONPATH={paths}", sys.executable, "-m", "e2ekit.store", self.url, bucket, str(folder)]
        checked([*self._cluster.enter, *command], _FILL_S)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def keys(name: str) -> Manifest:
    """The Secret that opens the server."""
    data = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}


def _address(kubectl: Kubectl) -> str:
    node = kubectl.all("nodes")[0]
    return str(next(each["address"] for each in node["status"]["addresses"] if each["type"] == "InternalIP"))


def main(url: str, bucket: str, folder: str) -> None:
    client = minio.Minio(url.removeprefix("http://"), KEY, SECRET, secure=False, region="us-east-1")
    if not client.bucket_exists(bucket):
        client.make_bucket(bucket)
    for path in Path(folder).rglob("*"):
        if path.is_file():
            client.fput_object(bucket, path.relative_to(folder).as_posix(), str(path))


if __name__ == "__main__":
    main(*sys.argv[1:])
