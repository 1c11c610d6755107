"""Leaves one image in an OCI folder: names it as containerd reads names, and removes the blobs of earlier builds.

Called as `oci_folder.py FOLDER NAME`.
"""

import json
import sys
from pathlib import Path

REF_NAME = "org.opencontainers.image.ref.name"


def tidy(folder: Path, name: str) -> None:
    """Make `name` the only image of `folder`."""
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    [entry] = [each for each in index["manifests"] if each.get("annotations", {}).get(REF_NAME) == name]
    entry["annotations"]["io.containerd.image.name"] = name
    (folder / "index.json").write_text(json.dumps(index | {"manifests": [entry]}), encoding="utf-8")
    _prune(folder / "blobs" / "sha256", entry["digest"])


def _prune(blobs: Path, manifest_digest: str) -> None:
    manifest = json.loads((blobs / _hex(manifest_digest)).read_text(encoding="utf-8"))
    kept = {_hex(each["digest"]) for each in [manifest["config"], *manifest["layers"]]} | {_hex(manifest_digest)}
    for blob in blobs.iterdir():
        if blob.name not in kept:
            blob.unlink()


def _hex(digest: str) -> str:
    return digest.removeprefix("sha256:")


if __name__ == "__main__":
    tidy(Path(sys.argv[1]), sys.argv[2])
