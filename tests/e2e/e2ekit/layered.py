"""An image of this checkout with other files in it: one small layer more, for the nodes of our own cluster."""

import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from e2ekit.cluster import Cluster

_LAYER = "application/vnd.oci.image.layer.v1.tar"
_OPAQUE = ".wh..wh..opq"
"""A file of this name hides all that lower layers have in its folder."""


def layered(cluster: Cluster, image: str, tag: str, files: Mapping[str, bytes], anew: Iterable[str] = ()) -> str:
    """Make the image, and load it into every node.

    Args:
        cluster: one of our own.
        image: one that `images/build` has made.
        tag: of the new image, in place of the old one's.
        files: by path, without a slash before it.
        anew: folders of which nothing but `files` is to be left.

    Returns:
        The name of the new image.
    """
    name = f"{image.rpartition(':')[0]}:{tag}"
    base = _folder(image)
    with tempfile.TemporaryDirectory(dir=base.parent) as folder:
        _write(base, Path(folder), name, _tar({f"{each}/{_OPAQUE}": b"" for each in anew} | dict(files)))
        cluster.tool("load", folder)
    return name


def _folder(image: str) -> Path:
    """Where `images/build` has put it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "trellis" / "images" / image.rpartition(":")[0].rpartition("/")[2]


def _write(base: Path, folder: Path, name: str, layer: bytes) -> None:
    """Write an OCI folder with the image of another one and a layer more; it shares the layers of the other."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    [entry] = json.loads((base / "index.json").read_text(encoding="utf-8"))["manifests"]
    manifest = json.loads(_blob(base, entry["digest"]).read_bytes())
    for each in manifest["layers"]:
        (blobs / _blob(base, each["digest"]).name).hardlink_to(_blob(base, each["digest"]))
    config = json.loads(_blob(base, manifest["config"]["digest"]).read_bytes())
    config["rootfs"]["diff_ids"].append(_digest(layer))
    config.setdefault("history", []).append({"created_by": "tests"})
    manifest["config"] |= _put(blobs, json.dumps(config).encode())
    manifest["layers"].append({"mediaType": _LAYER, **_put(blobs, layer)})
    names = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
    found = {"mediaType": entry["mediaType"], "annotations": names, **_put(blobs, json.dumps(manifest).encode())}
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [found]}), encoding="utf-8")
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}', encoding="utf-8")


def _blob(folder: Path, digest: str) -> Path:
    return folder / "blobs" / "sha256" / digest.partition(":")[2]


def _put(blobs: Path, data: bytes) -> dict[str, Any]:
    """Keep data under its digest; returns what a manifest says of it."""
    digest = _digest(data)
    (blobs / digest.partition(":")[2]).write_bytes(data)
    return {"digest": digest, "size": len(data)}


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _tar(files: Mapping[str, bytes]) -> bytes:
    """All files readable by everybody, owned by root, and of one time: the same files are the same bytes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()
