"""A manifest is served alike on a cluster and on this machine: the same vectors, byte for byte."""

from pathlib import Path

import pytest
import yaml
from e2ekit.client import Client
from e2ekit.kubectl import Kubectl
from e2ekit.models import wait_settled
from e2ekit.operator import OperatorProcess
from roadkit.http import embed
from roadkit.ports import free_ports
from roadkit.program import Programs
from roadkit.stack import responds
from roadkit.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.processes]

EXAMPLE = Path(__file__).parents[2] / "examples" / "minilm.yaml"
NAME = "all-minilm-l6-v2"
TEXTS = ["hello", "a longer text, of more than a few words", "Grüße aus Köln", "日本語の文章", "x" * 3000, "one " * 240]


def _here(programs: Programs, model: Path) -> str:
    """The URL of the example as `make run` serves it."""
    [port] = free_ports(1)
    arguments = ["-m", "trellis_operator", "local", str(EXAMPLE), "--model", str(model), "--port", str(port)]
    local, url = programs.python("local", arguments), f"http://127.0.0.1:{port}"

    def ready() -> bool:
        assert local.alive, local.tail()
        return responds(url, "/readyz", 200)

    until(ready, "the example serves on this machine", 120)
    return url


def test_the_example_gives_the_same_vectors_as_on_this_machine(
    kubectl: Kubectl, operator: OperatorProcess, client: Client, minilm: Path, tmp_path: Path
) -> None:
    kubectl.apply(yaml.safe_load(EXAMPLE.read_text(encoding="utf-8")))
    programs = Programs(tmp_path)
    try:
        here = _here(programs, minilm)
        local = [embed(here, text, model=NAME).json["data"][0]["embedding"] for text in TEXTS]
        together = [row["embedding"] for row in embed(here, TEXTS, model=NAME).json["data"]]
    finally:
        programs.stop()
    wait_settled(kubectl, NAME)
    url = kubectl.get("embeddingmodel", NAME)["status"]["url"]
    assert [client.embed(url, NAME, [text]).encoded[0] for text in TEXTS] == local
    assert client.embed(url, NAME, TEXTS).encoded == together
