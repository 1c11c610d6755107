"""Models in trouble, as real processes: what each has to go through, and its targets for Prometheus.

Every model has one kind of trouble, so that what fires for it is known; `proved` says what that is.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from monitorkit.api_server import ApiServer
from monitorkit.programs import example, start_operator
from monitorkit.targets import Target
from roadkit.faults import Faults
from roadkit.http import embed
from roadkit.program import Program, Programs, free_ports
from roadkit.stack import KEY, Engine, Starter, responds
from roadkit.waiting import until
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1 import embedding_pb2_grpc

LOSES_CALLS = """
import itertools
import grpc
from tulip_rose.tulip.servicer import EmbeddingServicer

embed, numbers = EmbeddingServicer.Embed, itertools.count()

async def lose(self, request, context):
    if next(numbers) % 4 < 3:
        await context.abort(grpc.StatusCode.UNAVAILABLE, "lost")
    return await embed(self, request, context)

EmbeddingServicer.Embed = lose
"""
"""Three calls of four are lost, while the engine says that it is well."""
LOADS_FOR_EVER = """
import time
from tulip_rose.rose import engine

engine.Engine.load = lambda folder, options: time.sleep(3600)
"""
REFUSES_CAPTURES = """
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.graphs.device import CaptureError

def refused(self, step):
    raise CaptureError("an operation that waits")

CpuGraphDevice.capture = refused
"""
_WITH_GRAPHS = ("--device", "cpu-graphs", "--graph-prewarm", "64x2")
STUCK_AFTER_S = 30
"""Long enough for alerts about an engine that takes nothing to fire before it counts as stuck."""
_ROOM_TOKENS = 600
_TEXT = [101] * 100
_READY_S = 120.0


@dataclass
class Fleet:
    """Processes, and the loops that trouble them until `over`.

    Attributes:
        targets: what is scraped of pods of models.
        others: what else is.
    """

    programs: Programs
    starter: Starter
    folder: Path
    model: Path
    targets: list[Target] = field(default_factory=list)
    others: list[Target] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    threads: list[threading.Thread] = field(default_factory=list)

    def engine(self, label: str, *flags: str, code: str | None = None) -> Engine:
        """An engine of a model, ready."""
        engine = self.starter.engine("--threads", "1", *flags, code=code, name=f"engine-{label}")
        self._scraped(label, engine.metrics_url.split("/")[2], engine.program)
        return engine

    def cold(self) -> None:
        """An engine whose load does not end."""
        port, metrics = free_ports(2)
        listen = ["--listen", f"127.0.0.1:{port}", "--metrics-listen", f"127.0.0.1:{metrics}"]
        main = "import sys; from tulip_rose.__main__ import main; sys.exit(main())"
        serve = ["serve", "--model", str(self.model), *listen]
        program = self.programs.python("engine-cold", ["-c", f"{LOADS_FOR_EVER}\n{main}", *serve])
        self._scraped("cold", f"127.0.0.1:{metrics}", program)

    def gateway(self, label: str, engines: Sequence[Engine], *flags: str) -> "Gateway":
        """A gateway of a model, which answers; whether it has an engine is not asked."""
        gateway = Gateway(self.programs, self.model, [engine.address for engine in engines], flags)
        gateway.start()
        self._scraped(label, gateway.address, gateway.program)
        return gateway

    @contextmanager
    def blocked(self) -> Iterator[None]:
        """While inside, an operator looks after a model whose Secret with keys is not there."""
        server, body = ApiServer(), example()
        body["spec"]["gateway"]["apiKeysSecretRef"] = {"name": "forgotten"}
        try:
            operator = start_operator(self.programs, server, body=body)
            self.others.append(Target(operator.target.address, {"namespace": "troubled", "pod": "operator-0"}))
            yield
        finally:
            server.close()

    def again_and_again(self, *troubles: Callable[[], object]) -> None:
        """Let each go on by itself until it is over."""

        def repeat(trouble: Callable[[], object]) -> None:
            while not self.over.wait(0.1):
                # Full queues and a machine short of time: a caller that gave up waiting is one more sign of trouble.
                with suppress(OSError):
                    trouble()

        for trouble in troubles:
            self.threads.append(threading.Thread(target=repeat, args=(trouble,), daemon=True))
            self.threads[-1].start()

    def end(self) -> None:
        """End the loops, once what they wait for has come."""
        self.over.set()
        for thread in self.threads:
            thread.join(_READY_S)

    def _scraped(self, label: str, address: str, program: Program) -> None:
        pod = f"{program.name}-{program.pid}"
        labels = {"namespace": "troubled", "pod": pod}
        instance = {"__meta_kubernetes_pod_label_app_kubernetes_io_instance": label}
        self.targets.append(Target(address, labels | instance))


@dataclass
class Gateway:
    """A gateway that may be ended and started again at the same address."""

    programs: Programs
    model: Path
    engines: Sequence[str]
    flags: Sequence[str]
    port: int = field(default_factory=lambda: free_ports(1)[0])
    program: Program = field(init=False)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.address}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        engines = ",".join(self.engines) or f"127.0.0.1:{free_ports(1)[0]}"
        serve = ["serve", "--model", str(self.model), "--served-name", "minilm", "--listen", self.address]
        self.program = self.programs.python("gateway", ["-m", "ivy", *serve, "--engines", engines, *self.flags])

        def answers() -> bool:
            assert self.program.alive, self.program.tail()
            return responds(self.url, "/healthz", 200)

        until(answers, "the gateway answers", _READY_S)


@contextmanager
def troubled(fleet: Fleet) -> Iterator[Gateway]:
    """All models, in trouble while inside; yields the gateway of `gone`, which is to be restarted."""
    faults, held = Faults(_made(fleet.folder / "bad")), Faults(_made(fleet.folder / "full"))
    starts: list[Callable[[], Engine]] = [
        lambda: fleet.engine("bad", code=faults.code),
        lambda: fleet.engine("full", "--stuck-after-seconds", str(STUCK_AFTER_S), code=held.code),
        lambda: fleet.engine("uneven"),
        lambda: fleet.engine("uneven", code=LOSES_CALLS),
        lambda: fleet.engine("uneven", "--model-digest", "another", *_WITH_GRAPHS, code=REFUSES_CAPTURES),
    ]
    before = fleet.programs.living()
    fleet.cold()
    with ThreadPoolExecutor(len(starts)) as pool:
        bad, full, well, losing, other = (each.result() for each in [pool.submit(start) for start in starts])
    with fleet.blocked():
        try:
            yield _trouble(fleet, faults, held, (bad, full, well, losing, other))
        finally:
            held.release()
            fleet.end()
            fleet.programs.stop(*(each for each in fleet.programs.living() if each not in before))


def _trouble(fleet: Fleet, faults: Faults, held: Faults, engines: tuple[Engine, ...]) -> Gateway:
    bad, full, well, losing, other = engines
    keys = fleet.folder / "keys"
    keys.write_text(KEY, encoding="utf-8")
    at_bad = fleet.gateway("bad", [bad])
    at_full = fleet.gateway("full", [full], "--max-queued-tokens", str(_ROOM_TOKENS))
    at_keys = fleet.gateway("keys", [well], "--api-keys-file", str(keys))
    uneven = ("--slow-start-seconds", "0", "--retry-budget-percent", "100")
    at_uneven = [fleet.gateway("uneven", [well, losing], *uneven) for _ in range(2)]
    for each in (at_bad, at_full, at_keys, *at_uneven):
        until(lambda url=each.url: responds(url, "/readyz", 200), "the gateway has an engine", _READY_S)
    held.hold()
    fleet.again_and_again(
        lambda: _all_that_is_bad(faults, at_bad.url),
        lambda: embed(at_keys.url, "no key"),
        lambda: _ask_for_another(other.address),
        *(lambda: embed(at_full.url, [_TEXT]) for _ in range(10)),
        *(lambda url=each.url: embed(url, "lost?") for each in at_uneven for _ in range(2)),
    )
    return fleet.gateway("gone", [])


def _all_that_is_bad(faults: Faults, url: str) -> None:
    for worsen in (faults.fail_next, faults.spoil_next, faults.slow_next):
        worsen()
        embed(url, "sun")


def _ask_for_another(address: str) -> None:
    """As a gateway with old settings does: for a digest that the engine does not have."""
    with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        request = pb.EmbedRequest(model_digest="of old")
        try:
            embedding_pb2_grpc.EmbeddingStub(channel).Embed(request, timeout=10)
        except grpc.RpcError as error:
            assert error.code() is grpc.StatusCode.FAILED_PRECONDITION, error  # noqa: PT017


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
