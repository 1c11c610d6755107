"""What is inside the images of the three programs, seen from a pod of each."""

import json
from typing import Any

import pytest
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl
from e2ekit.pods import script_pod
from e2ekit.waiting import until

pytestmark = pytest.mark.cluster

PROGRAMS = {"operator": "trellis_operator", "gateway": "ivy", "engine": "tulip_rose"}
LOOK = """
import importlib.util, json, os, shutil
names = ["trellis_operator", "ivy", "tulip_rose", "trellis_wire", "torch", "kopf", "aiohttp", "tokenizers"]
print(json.dumps({
    "user": [os.getuid(), os.getgid()],
    "packages": [name for name in names if importlib.util.find_spec(name)],
    "compilers": [name for name in ("cc", "gcc", "g++", "c++", "clang", "ld", "make") if shutil.which(name)],
    "kernels": os.uname().machine != "x86_64" or os.path.exists("/opt/project/tulip_rose/rose/native/kernels.so"),
}))
"""


def _end(kubectl: Kubectl, name: str) -> str:
    phase = str(kubectl.get("pod", name)["status"]["phase"])
    return phase if phase in ("Succeeded", "Failed") else ""


@pytest.fixture
def seen(kubectl: Kubectl, images: Images) -> dict[str, Any]:
    """By program, what a pod of its image finds."""
    for name in PROGRAMS:
        kubectl.apply(*script_pod(name, getattr(images, name), ["python", "-c", LOOK], {}))
    for name in PROGRAMS:
        assert until(lambda name=name: _end(kubectl, name), f"the pod of {name} has ended") == "Succeeded"
    return {name: json.loads(kubectl.run("logs", name)) for name in PROGRAMS}


def test_each_image_holds_its_program_and_no_other_and_no_compiler(seen: dict[str, Any]) -> None:
    for name, program in PROGRAMS.items():
        assert seen[name]["user"] == [65532, 65532]
        assert seen[name]["compilers"] == []
        ours = {each for each in seen[name]["packages"] if each in PROGRAMS.values()}
        assert ours == {program}
    assert "torch" not in seen["operator"]["packages"] + seen["gateway"]["packages"]
    assert not {"kopf", "aiohttp", "tokenizers"} & set(seen["engine"]["packages"])


def test_the_engines_image_holds_the_kernels_of_this_processor(seen: dict[str, Any]) -> None:
    assert seen["engine"]["kernels"]
