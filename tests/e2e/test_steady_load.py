"""Steady load through the gateways while the cluster changes: no answer but 200 and 429, and every 200 right.

Conditions 3 to 5 and 7. One model serves all tests of this file; each begins when it serves with two of each kind.
"""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest
from e2ekit.client import Client
from e2ekit.cluster import Cluster
from e2ekit.hub import CLS, Hub
from e2ekit.images import Images
from e2ekit.kubectl import Kubectl, RefusedError
from e2ekit.models import children, templates, wait_settled
from e2ekit.namespaces import make_namespace, remove_namespace
from e2ekit.operator import OperatorProcess
from e2ekit.rolls import from_hub, roll
from e2ekit.shares import first_work, looking, share
from e2ekit.steady import (
    LEAST,
    MODEL,
    Served,
    answers_of,
    is_ready,
    pods,
    served_model,
    steady_load,
    two_are_ready,
)
from e2ekit.waiting import until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

SHARE_S = 15
"""In which a new engine comes to its share."""
ENOUGH = 450
"""Answers of which a third goes to one of three engines, and neither a fifth nor a half but once in a million times.

Tokens of answers differ, so that their shares vary as those of 320 answers of equal size would.
"""


@pytest.fixture(scope="module")
def kubectl(cluster: Cluster, crd: None) -> Iterator[Kubectl]:
    """One namespace for all tests of this file."""
    kubectl = make_namespace(cluster, "load")
    yield kubectl
    remove_namespace(kubectl)


@pytest.fixture(scope="module")
def operator(
    cluster: Cluster, images: Images, kubectl: Kubectl, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OperatorProcess]:
    """One operator for all tests of this file, which an API server that is away does not end."""
    log = tmp_path_factory.mktemp("operator") / "operator.log"
    process = OperatorProcess(cluster, images, kubectl.namespace, log, flags=("--no-leader-election",))
    process.start()
    yield process
    process.stop()


@pytest.fixture(scope="module")
def client(kubectl: Kubectl, images: Images) -> Client:
    """One client for all tests of this file."""
    return Client(kubectl, images.gateway)


@pytest.fixture(scope="module")
def first(kubectl: Kubectl, operator: OperatorProcess, client: Client) -> Served:
    kubectl.apply(served_model(MODEL))
    wait_settled(kubectl, MODEL, timeout_s=180)
    return answers_of(client, kubectl, MODEL)


@pytest.fixture
def served(kubectl: Kubectl, first: Served) -> Served:
    """The model, with two engines and two gateways that all serve."""
    kubectl.patch("embeddingmodel", MODEL, {"spec": {"engine": {"replicas": 2}}})
    wait_settled(kubectl, MODEL, timeout_s=240)
    until(lambda: (len(pods(kubectl, "engine")), len(pods(kubectl, "gateway"))) == (2, 2), "two pods of each kind", 120)
    return first


def of_engines(client: Client, kubectl: Kubectl, family: str) -> Counter[str]:
    """A metric that gateways have of each engine, by its address, summed over the gateways."""
    found: Counter[str] = Counter()
    for pod in pods(kubectl, "gateway").values():
        shown = client.request("GET", f"http://{pod['status']['podIP']}:8080/metrics").text
        for line in shown.splitlines():
            if line.startswith(f'trellis_gateway_{family}{{engine="'):
                found[line.split('"')[1]] += int(float(line.rpartition(" ")[2]))
    return found


def test_a_rolling_update_of_engines_and_gateways_is_not_noticed(
    kubectl: Kubectl, client: Client, served: Served
) -> None:
    before = {**pods(kubectl, "engine"), **pods(kubectl, "gateway")}
    with steady_load(client, served):
        change = {"engine": {"batching": {"maxBatchTokens": 1024}}, "gateway": {"maxQueuedTokens": 400000}}
        kubectl.patch("embeddingmodel", MODEL, {"spec": change})
        wait_settled(kubectl, MODEL, timeout_s=300)
        until(lambda: not before.keys() & {**pods(kubectl, "engine"), **pods(kubectl, "gateway")}.keys(), "all are new")


def test_a_new_engine_takes_its_share_within_fifteen_seconds_and_no_burst_before(
    kubectl: Kubectl, client: Client, images: Images, served: Served
) -> None:
    old = set(pods(kubectl, "engine"))
    gateways = [f"http://{pod['status']['podIP']}:8080/metrics" for pod in pods(kubectl, "gateway").values()]
    with steady_load(client, served) as load, looking(kubectl, images.gateway, gateways) as looks:
        kubectl.patch("embeddingmodel", MODEL, {"spec": {"engine": {"replicas": 3}}})
        name = until(lambda: next(iter(set(pods(kubectl, "engine")) - old), ""), "there is a third engine")
        address = until(lambda: pods(kubectl, "engine")[name]["status"].get("podIP"), "it has an address")
        new = f"{address}:50051"
        begin = until(lambda: first_work(looks(), new), "it has work", 150)

        def enough() -> bool:
            counts = load.answered(begin + SHARE_S, inf)
            return bool(counts) and counts[-1] - counts[0] >= ENOUGH

        until(enough, "it has its share", 120)
        seen = looks()
    first, full = share(seen, new, begin, begin + SHARE_S / 3), share(seen, new, begin + SHARE_S)
    assert first <= full + 0.05, f"{first:.2f} of all tokens in the slow start, {full:.2f} afterwards"
    assert 0.2 < full < 0.5, f"{full:.2f} of all tokens, of three engines"


def test_scaling_down_is_not_noticed(kubectl: Kubectl, client: Client, served: Served) -> None:
    with steady_load(client, served):
        kubectl.patch("embeddingmodel", MODEL, {"spec": {"engine": {"replicas": 1}}})
        wait_settled(kubectl, MODEL, timeout_s=120)
        everything = {"app.kubernetes.io/instance": MODEL, "app.kubernetes.io/component": "engine"}
        until(lambda: len(kubectl.all("pods", everything)) == 1, "one engine is left, and no other ends", 120)


def test_the_drain_of_a_node_is_not_noticed(kubectl: Kubectl, client: Client, served: Served) -> None:
    placed = [pod["spec"]["nodeName"] for kind in ("engine", "gateway") for pod in pods(kubectl, kind).values()]
    [(node, _)] = Counter(placed).most_common(1)
    mine = f"--pod-selector=app.kubernetes.io/instance={MODEL}"
    with steady_load(client, served):
        try:
            kubectl.run("drain", node, mine, "--delete-emptydir-data", "--timeout=180s", timeout_s=200)
            for kind in ("engine", "gateway"):
                until(lambda kind=kind: two_are_ready(kubectl, kind, ""), f"two of kind {kind} serve elsewhere", 180)
                assert node not in {pod["spec"]["nodeName"] for pod in pods(kubectl, kind).values()}
        finally:
            kubectl.run("uncordon", node)


@pytest.mark.parametrize("how", ["--grace-period=0 --force", ""])
def test_the_end_of_each_pod_is_not_noticed(kubectl: Kubectl, client: Client, served: Served, how: str) -> None:
    with steady_load(client, served):
        for engine, gateway in zip(pods(kubectl, "engine"), pods(kubectl, "gateway"), strict=True):
            # Side by side: each is replaced while one of its kind serves.
            kubectl.run("delete", "pods", engine, gateway, "--wait=false", *how.split())
            for kind, name in (("engine", engine), ("gateway", gateway)):
                until(lambda k=kind, n=name: two_are_ready(kubectl, k, n), f"{name} is replaced", 180)


def test_an_engine_that_is_killed_in_the_middle_of_its_work_is_not_noticed(
    cluster: Cluster, kubectl: Kubectl, client: Client, served: Served
) -> None:
    if not cluster.own:
        pytest.skip("processes of pods are reached only on a cluster of our own")
    with steady_load(client, served):
        for name, pod in pods(kubectl, "engine").items():
            process = process_of(pod["metadata"]["uid"], "tulip_rose")
            assert process is not None
            os.kill(process, signal.SIGKILL)
            until(
                lambda name=name: restarts(kubectl, name) and is_ready(pods(kubectl, "engine")[name]), "it is back", 180
            )


def process_of(pod_uid: str, module: str) -> int | None:
    """The process of a pod that runs a module, if there is one now."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            held, command = (folder / "cgroup").read_text(), (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if pod_uid.replace("-", "") in held.replace("-", "").replace("_", "") and module.encode() in command:
            return int(folder.name)
    return None


def restarts(kubectl: Kubectl, name: str) -> int:
    """How often the container of a pod was started again."""
    return int(kubectl.get("pod", name)["status"]["containerStatuses"][0]["restartCount"])


def test_restarts_of_the_operator_are_not_noticed(
    kubectl: Kubectl, operator: OperatorProcess, client: Client, served: Served
) -> None:
    before = templates(kubectl, MODEL), set(pods(kubectl, "engine")), set(pods(kubectl, "gateway"))
    with steady_load(client, served) as load:
        for end in (operator.stop, operator.kill):
            end()
            more = load.counted().answers + LEAST
            until(lambda more=more: load.counted().answers >= more, "the load goes on without an operator")
            operator.start()
            wait_settled(kubectl, MODEL)
    assert (templates(kubectl, MODEL), set(pods(kubectl, "engine")), set(pods(kubectl, "gateway"))) == before


def test_an_engine_that_is_killed_while_the_api_server_is_away_comes_back_and_then_others_are_found(
    cluster: Cluster, kubectl: Kubectl, client: Client, served: Served
) -> None:
    if not cluster.own:
        pytest.skip("the API server is stopped only on a cluster of our own")
    uid = next(iter(pods(kubectl, "engine").values()))["metadata"]["uid"]
    with steady_load(client, served):
        cluster.tool("stop", "kube-apiserver")
        try:
            killed = process_of(uid, "tulip_rose")
            assert killed is not None
            os.kill(killed, signal.SIGKILL)
            until(lambda: process_of(uid, "tulip_rose") not in (None, killed), "the kubelet starts it again", 120)
        finally:
            cluster.tool("start", "kube-apiserver")
        until(lambda: api_answers(kubectl), "the API server is back")
        kubectl.patch("embeddingmodel", MODEL, {"spec": {"engine": {"replicas": 3}}})
        wait_settled(kubectl, MODEL, timeout_s=240)
        until(lambda: of_engines(client, kubectl, "endpoint_up").total() == 6, "both gateways have three engines", 60)


def api_answers(kubectl: Kubectl) -> bool:
    """Whether the API server is there."""
    try:
        kubectl.run("get", "namespace", kubectl.namespace, "--request-timeout=2s")
    except RefusedError:
        return False
    return True


PROMPT = "represent this for a search: "


@pytest.fixture
def hub(kubectl: Kubectl, client: Client, images: Images, operator: OperatorProcess) -> Hub:
    """A hub with the model of the example, that the operator's fetches ask."""
    hub = Hub(kubectl, client, images.operator)
    until(hub.answers, "the hub serves")
    operator.stop()
    operator.flags += ("--fetch-env", f"HF_ENDPOINT={hub.url}")
    operator.start()
    return hub


def test_a_change_of_what_makes_vectors_rolls_whom_it_concerns_and_mixes_no_two_kinds_of_them(
    kubectl: Kubectl, client: Client, served: Served, hub: Hub
) -> None:
    kubectl.apply(served_model("other", replicas=1, pooling="cls"))
    revision, commit = hub.commit(), hub.publish(CLS)
    wait_settled(kubectl, "other", timeout_s=180)
    second = answers_of(client, kubectl, "other").vectors
    prompted = answers_of(client, kubectl, "other", PROMPT).vectors
    kubectl.delete("embeddingmodel", "other")
    until(lambda: not children(kubectl, "other", "pods"), "the other model is gone", 120)
    prompts = {"prompts": {"query": PROMPT}, "defaultPrompt": "query"}
    with steady_load(client, served, second=second, prompted=prompted) as load:
        roll(kubectl, load, {"embedding": {"pooling": "cls"}}, "second", {"engine", "gateway"})
        roll(kubectl, load, {"embedding": prompts}, "prompted", {"gateway"})
        before = {"embedding": dict.fromkeys(("pooling", *prompts)), "engine": {"replicas": 1}}
        roll(kubectl, load, before | {"model": from_hub(revision)}, "first", {"engine", "gateway"})
        roll(kubectl, load, {"model": from_hub(commit)}, "second", {"engine", "gateway"})
