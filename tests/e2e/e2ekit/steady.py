"""A model under steady load that a test may do anything to: no answer but 200 and 429, and every 200 right.

The model has the name `MODEL`; what is done to it is the test's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from e2ekit.client import Client, Load
from e2ekit.kubectl import Kubectl, Manifest
from e2ekit.models import manifest
from e2ekit.waiting import until

MODEL = "m"
TEXT = "the quick brown fox jumps over a lazy dog while it rains in the old harbour"
INPUTS = [[TEXT[: 9 + (17 * row + 23 * text) % 60] * (1 + row % 3) for text in range(1 + row % 4)] for row in range(8)]
LEAST = 30
"""Answers that a load must have before and after what a test does."""


@dataclass(frozen=True)
class Served:
    """The model, and what it answers to `INPUTS`."""

    url: str
    name: str
    vectors: list[list[str]]


def served_model(name: str, replicas: int = 2, **embedding: str) -> Manifest:
    """The example, with engines that leave each other room, and a drain that outlasts the spreading of news."""
    return manifest(
        name,
        embedding={"truncation": "end", **embedding},
        engine={
            "replicas": replicas,
            "drain": {"delaySeconds": 5, "timeoutSeconds": 30},
            "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "400Mi"}},
        },
        gateway={"replicas": replicas},
    )


def answers_of(client: Client, kubectl: Kubectl, name: str, prompt: str = "") -> Served:
    """What a model answers to `INPUTS`, with `prompt` before each text, when nothing is going on."""
    found = kubectl.get("embeddingmodel", name)
    url, served = found["status"]["url"], found["spec"]["model"].get("servedNames", [name])[0]
    inputs = [[prompt + text for text in texts] for texts in INPUTS]
    return Served(url, served, [client.embed(url, served, texts).encoded for texts in inputs])


@contextmanager
def steady_load(client: Client, served: Served, **others: list[list[str]]) -> Iterator[Load]:
    """Load for as long as the block lasts, and a little longer; then it must have been clean."""
    load = client.load(served.url, served.name, INPUTS, {"first": served.vectors, **others})
    try:
        until(lambda: load.counted().answers >= LEAST, "the load is steady")
        yield load
        more = load.counted().answers + LEAST
        until(lambda: load.counted().answers >= more, "the load goes on")
    finally:
        seen = load.stop()
    seen.assert_clean(least=2 * LEAST)


def pods(kubectl: Kubectl, component: str) -> dict[str, Manifest]:
    """The pods of a component that are not on their way out, by name."""
    found = kubectl.all("pods", {"app.kubernetes.io/instance": MODEL, "app.kubernetes.io/component": component})
    return {each["metadata"]["name"]: each for each in found if "deletionTimestamp" not in each["metadata"]}


def is_ready(pod: Manifest) -> bool:
    """Whether the cluster counts a pod as ready."""
    conditions = {each["type"]: each["status"] for each in pod.get("status", {}).get("conditions", [])}
    return conditions.get("Ready") == "True"


def two_are_ready(kubectl: Kubectl, component: str, without: str) -> bool:
    """Whether two pods of a component are ready, none of which is the one that went."""
    found = pods(kubectl, component)
    return without not in found and sum(map(is_ready, found.values())) == 2
