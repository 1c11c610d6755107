"""The four programs as processes, each doing what it is for, behind one API server at the wire."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hub_fault import Fault
from hub_server import HubServer
from monitorkit.api_server import ApiServer, Place
from monitorkit.targets import Target
from roadkit.http import embed
from roadkit.ports import free_ports
from roadkit.program import Program, Programs
from roadkit.stack import Engine, Gateway, responds
from roadkit.waiting import until
from trellis_operator.desired import names
from trellis_operator.kinds import EMBEDDING_MODEL, SERVICE
from trellis_operator.spec import EmbeddingModel
from trellis_operator.validate import validate

NAMESPACE = "search"
_EXAMPLE = Path(__file__).parents[3] / "examples" / "minilm.yaml"
_READY_S = 90.0
_INPUTS: tuple[Any, ...] = (
    ["the sky is blue"] * 3,
    "one",
    ["sun " * 100, "moon " * 10],
    ["sea " * 200] * 4,
    ["sea " * 200] * 42,
    [" "] * 3,
    7,
)
"""Of several sizes, and some that are refused."""


def example() -> dict[str, Any]:
    """The example's manifest as an API server has it."""
    body = validate(yaml.safe_load(_EXAMPLE.read_text(encoding="utf-8")))
    body["metadata"] |= {"namespace": NAMESPACE, "uid": "uid-1", "generation": 1}
    return body


def model() -> EmbeddingModel:
    """What is made of it."""
    return EmbeddingModel.from_body(example())


def tell_of(server: ApiServer, engine: Engine) -> str:
    """Let the cluster know an engine; gives the Service that it is behind."""
    host, port = engine.address.rsplit(":", 1)
    service = names.engines_service(model())
    server.put(
        Place(f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices/one"),
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": "one", "labels": {"kubernetes.io/service-name": service}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [host], "conditions": {"ready": True}}],
            "ports": [{"name": "grpc", "port": int(port), "protocol": "TCP"}],
        },
    )
    return f"{NAMESPACE}/{service}"


def start_gateway(programs: Programs, folder: Path, *flags: str) -> Gateway:
    """Start a gateway on the model in `folder`, and wait until it has an engine."""
    [port] = free_ports(1)
    serve = ["serve", "--model", str(folder), "--served-name", "minilm", "--listen", f"127.0.0.1:{port}", *flags]
    gateway = Gateway(programs.python("gateway", ["-m", "ivy", *serve]), f"http://127.0.0.1:{port}")

    def ready() -> bool:
        assert gateway.program.alive, gateway.program.tail()
        return gateway.ready()

    until(ready, "the gateway is ready", _READY_S)
    return gateway


def pods(engine: Engine, gateway: Gateway) -> list[Target]:
    """What Prometheus would know of the pods of an engine and a gateway."""
    instance = {"__meta_kubernetes_pod_label_app_kubernetes_io_instance": model().name, "namespace": NAMESPACE}
    return [
        Target(engine.metrics_url.split("/")[2], instance | {"pod": "engine-0", "container": "engine"}),
        Target(gateway.url.split("/")[2], instance | {"pod": "gateway-0", "container": "gateway"}),
    ]


@dataclass(frozen=True)
class Operator:
    """A running operator."""

    program: Program
    target: Target


def start_operator(
    programs: Programs, server: ApiServer, *more: str, body: dict[str, Any] | None = None, token: str = "none"
) -> Operator:
    """Start one that looks after the example, and wait until it has visited it.

    Args:
        programs: starts it.
        server: what it takes for a cluster.
        more: flags.
        body: of a model instead of the example's; under the same name.
        token: that it shows the server.
    """
    server.put(Place(EMBEDDING_MODEL.path(NAMESPACE, model().name)), body or example())
    [health, metrics] = free_ports(2)
    config = programs.folder / "kubeconfig"
    config.write_text(yaml.safe_dump(_kubeconfig(server.url, token)), encoding="utf-8")
    flags = [
        *("--listen-health", f"127.0.0.1:{health}", "--listen-metrics", f"127.0.0.1:{metrics}"),
        *("--no-leader-election", "--resync-seconds", "5"),
        *more,
    ]
    command = ["-m", "trellis_operator", "run", *flags]
    program = programs.python("operator", command, {"KUBECONFIG": str(config)})
    address = f"127.0.0.1:{metrics}"

    def visited() -> bool:
        assert program.alive, program.tail()
        return responds(f"http://127.0.0.1:{health}", "/readyz", 200) and bool(server.get(gateways()))

    until(visited, "the operator has made the example's deployments", _READY_S)
    return Operator(program, Target(address, {"namespace": "trellis-system", "pod": "operator-0"}))


def gateways() -> Place:
    """Where the Deployment of the example's gateways is."""
    return Place(f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{names.gateway(model())}")


def _kubeconfig(url: str, token: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {"token": token}}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "current-context": "here",
    }


@contextmanager
def fetching(programs: Programs) -> Iterator[Target]:
    """A download that has come half of the way, and stays there while inside."""
    go_on = threading.Event()
    hub = HubServer()
    files = {"config.json": b"{}", "tokenizer.json": b"{}", "model.safetensors": bytes(100_000)}
    hub.add("test/model", files)
    hub.faults.append(Fault("/cdn/", after=50_000, then=lambda: go_on.wait(600)))
    source = programs.folder / "source.json"
    repo = {"repo": "test/model", "revision": hub.commits["test/model"]}
    source.write_text(json.dumps({"huggingFace": repo}), encoding="utf-8")
    [port] = free_ports(1)
    listen = ("--metrics-listen", f"127.0.0.1:{port}")
    to = ("--to", str(programs.folder / "fetched"))
    # It stands still for as long as others need to look at it.
    patience = ("--stall-seconds", "3600", "--deadline-seconds", "3600")
    command = ["-m", "trellis_operator", "fetch", "--source", str(source), *to, *listen, *patience]
    program = programs.python("fetch", command, {"HF_ENDPOINT": hub.url})

    def begun() -> bool:
        assert program.alive, program.tail()
        return responds(f"http://127.0.0.1:{port}", "/metrics", 200)

    try:
        until(begun, "the download is under way", _READY_S)
        yield Target(f"127.0.0.1:{port}", {"namespace": NAMESPACE, "pod": "download-0"})
    finally:
        go_on.set()
        programs.stop(program)
        hub.close()


@contextmanager
def load(url: str, server: ApiServer) -> Iterator[None]:
    """Requests of several kinds, one after the other, and now and then a child that the operator makes again."""
    over = threading.Event()

    def send() -> None:
        number = 0
        while not over.wait(0.2):
            embed(url, _INPUTS[number % len(_INPUTS)])
            number += 1
            if number % 10 == 0:
                server.delete(Place(SERVICE.path(NAMESPACE, names.service(model()))))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
