"""Condition 3, of the operator's own watches: what they miss is found in bounded time, and acted on.

The operator reaches the real API server over a wire that a test stalls, breaks and makes forgetful. Its models are
suspended: what is acted on are objects, and no pods are waited for.
"""

import asyncio
import dataclasses
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from e2ekit import quick_operator
from e2ekit.counts import restarts
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl
from e2ekit.models import KINDS, children, manifest
from e2ekit.operator import OperatorProcess
from e2ekit.waiting import throughout, until
from e2ekit.wire import Wire, wired
from trellis_operator.kinds import CHILDREN, POD

pytestmark = pytest.mark.cluster

FOUND_S = 30
WATCHES = 1 + sum(not kind.optional for kind in (*CHILDREN, POD))
"""Of models, and of each kind of children that every API server knows."""
CLUSTER = {"name": "wire"}
INSTANCE = "app.kubernetes.io/instance"


@dataclass
class Watched:
    """An operator that works, and the wire that it works over."""

    kubectl: Kubectl
    operator: OperatorProcess
    wire: Wire


@pytest.fixture
async def watched(kubectl: Kubectl, tmp_path: Path) -> AsyncIterator[Watched]:
    async with wired(kubectl, tmp_path) as wire:
        paths = os.pathsep.join(each for each in sys.path if each)
        environment = {"KUBECONFIG": str(kubeconfig(tmp_path, wire.port)), "PYTHONPATH": paths}
        outside = dataclasses.replace(kubectl.cluster, enter=())
        operator = OperatorProcess(
            outside,
            Images("operator:none", "gateway:none", "engine:none"),
            kubectl.namespace,
            tmp_path / "operator.log",
            program=("-m", quick_operator.__name__),
            environment=environment,
            flags=("--no-leader-election",),  # or it ends when the wire is down for longer than a lease lasts
        )
        operator.start()
        yield Watched(kubectl, operator, wire)
        await asyncio.to_thread(operator.stop)


def kubeconfig(folder: Path, port: int) -> Path:
    """One that leads to the wire; who asks there is who started `kubectl proxy`."""
    path = folder / "kubeconfig"
    found = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [CLUSTER | {"cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [CLUSTER | {"user": {}}],
        "contexts": [CLUSTER | {"context": {"cluster": "wire", "user": "wire"}}],
        "current-context": "wire",
    }
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


async def seen(what: str, holds: Callable[[], object]) -> None:
    await asyncio.to_thread(until, holds, what, FOUND_S)


async def all_watch(wire: Wire) -> None:
    """Returns in a moment in which each watch is there: they begin anew every few seconds."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + FOUND_S
    while (there := len(wire.watches())) < WATCHES:
        assert clock() < deadline, f"{there} watches of {WATCHES} are there at once"
        await asyncio.sleep(0.05)


def model(name: str) -> dict[str, object]:
    return manifest(name, suspend=True)


def selector(kubectl: Kubectl) -> str:
    return str(kubectl.get("service", "m")["spec"]["selector"][INSTANCE])


def most_away(kubectl: Kubectl) -> int:
    found = kubectl.find("pdb", "m-engine")
    return int(found["spec"]["maxUnavailable"]) if found else 0


def change_much(kubectl: Kubectl, number: int) -> None:
    """Of children one is deleted and one is edited; of models one is changed, one is deleted, and one comes."""
    kubectl.run("delete", "pdb", "m-gateway")
    kubectl.patch("service", "m", {"spec": {"selector": {INSTANCE: "x"}}})
    kubectl.patch("embeddingmodel", "m", {"spec": {"disruption": {"maxUnavailable": number + 1}}})
    kubectl.delete("embeddingmodel", f"leaves-{number - 1}")
    kubectl.apply(model(f"leaves-{number}"))


async def assert_found(kubectl: Kubectl, number: int, how: str) -> None:
    gone = f"leaves-{number - 1}"
    await seen(f"{how}: what was deleted of a model is there again", lambda: kubectl.find("pdb", "m-gateway"))
    await seen(f"{how}: what was edited is put back", lambda: selector(kubectl) == "m")
    await seen(f"{how}: a change of a model is done", lambda: most_away(kubectl) == number + 1)
    await seen(f"{how}: a new model is taken", lambda: kubectl.find("deployment", f"leaves-{number}-engine"))
    await seen(f"{how}: of a model that went nothing is left", lambda: not children(kubectl, gone))


async def test_whatever_the_watches_miss_is_found_in_bounded_time_and_acted_on(
    watched: Watched, forgetful: bool
) -> None:
    kubectl, operator, wire = watched.kubectl, watched.operator, watched.wire
    await asyncio.to_thread(kubectl.apply, model("m"), model("leaves-0"))
    await seen("the operator works", lambda: kubectl.find("deployment", "leaves-0-engine") and most_away(kubectl))

    await all_watch(wire)
    wire.stall_watches()
    await asyncio.to_thread(change_much, kubectl, 1)
    await assert_found(kubectl, 1, "watches that stall")

    await all_watch(wire)
    wire.aged = True
    wire.stall_watches()
    await asyncio.to_thread(change_much, kubectl, 2)
    await assert_found(kubectl, 2, "versions that the API server has forgotten")
    wire.aged = False
    # One that is not ours and was never started again sends all that ever was, in place of 410.
    assert not forgetful or await asyncio.to_thread(restarts, operator, "expired"), "no watch was told 410"

    await wire.down()
    await asyncio.to_thread(change_much, kubectl, 3)
    await wire.up()
    await assert_found(kubectl, 3, "watches that break")
    assert operator.alive
    gone = f"{INSTANCE} in (leaves-0,leaves-1,leaves-2)"
    left = ("get", KINDS, "--selector", gone, "-o", "name")
    await asyncio.to_thread(throughout, lambda: not kubectl.run(*left), "nothing of models that went comes back", 3)
