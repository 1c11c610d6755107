"""From a spec to the programs that are to run on this machine: a pure plan.

Never starts anything; see `supervisor`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trellis_operator.commands import EnginePlace, GatewayPlace, engine_command, gateway_command
from trellis_operator.engine_spec import CPU_GRAPHS
from trellis_operator.local.probe import Probe, engine_probe, gateway_probe
from trellis_operator.spec import EmbeddingModel

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Program:
    """One program that is kept running.

    Attributes:
        name: in front of its log lines.
        command: what the Python interpreter gets.
        probe: tells whether it is ready.
        ready_timeout_s: a program that is not ready by then is killed.
        stop_timeout_s: from SIGTERM to SIGKILL.
        stop_rank: programs of a lower rank are stopped first.
    """

    name: str
    command: Sequence[str]
    probe: Probe
    ready_timeout_s: float
    stop_timeout_s: float
    stop_rank: int


@dataclass(frozen=True)
class Setting:
    """What this machine adds to a spec: files, ports and cores.

    Attributes:
        engine_ports: gRPC and metrics port of each engine.
        threads: of all engines together; 0 takes all cores.
        cores: of this machine.
    """

    model_folder: str
    embedding_file: str
    model_digest: str
    api_keys_file: str | None
    gateway_port: int
    engine_ports: Sequence[tuple[int, int]]
    threads: int
    cores: int


def programs(model: EmbeddingModel, setting: Setting) -> list[Program]:
    """The engines and the gateway of `model` on this machine."""
    engines = [_engine(model, setting, index) for index in range(len(setting.engine_ports))]
    return [*engines, _gateway(model, setting)]


def engine_threads(setting: Setting) -> int:
    """CPU threads of each engine: an equal part of all, at least one; 0 lets a single engine take all cores."""
    replicas = len(setting.engine_ports)
    if replicas == 1:
        return setting.threads
    return max(1, (setting.threads or setting.cores) // replicas)


def _engine(model: EmbeddingModel, setting: Setting, index: int) -> Program:
    port, metrics_port = setting.engine_ports[index]
    place = EnginePlace(
        model_folder=setting.model_folder,
        embedding_file=setting.embedding_file,
        model_digest=setting.model_digest,
        listen=f"{HOST}:{port}",
        drain_delay_s=0,
        metrics_listen=f"{HOST}:{metrics_port}",
        device=_device(model.engine.accelerator),
        threads=engine_threads(setting),
    )
    return Program(
        name=f"engine-{index}",
        command=engine_command(model, place),
        probe=engine_probe(place.listen),
        ready_timeout_s=model.engine.killed_after_s,
        stop_timeout_s=model.engine.drain_timeout_s + 5.0,
        stop_rank=1,
    )


def _device(accelerator: str | None) -> str:
    """Where the engine runs: on a GPU if one is asked for and there is one."""
    if accelerator is None:
        return "cpu"
    return "cpu-graphs" if accelerator == CPU_GRAPHS else "auto"


def _gateway(model: EmbeddingModel, setting: Setting) -> Program:
    place = GatewayPlace(
        model_folder=setting.model_folder,
        embedding_file=setting.embedding_file,
        model_digest=setting.model_digest,
        listen=f"{HOST}:{setting.gateway_port}",
        drain_delay_s=0,
        engines=[f"{HOST}:{port}" for port, _ in setting.engine_ports],
        engines_service=None,
        gateways_service=None,
        api_keys_file=setting.api_keys_file,
    )
    return Program(
        name="gateway",
        command=gateway_command(model, place),
        probe=gateway_probe(HOST, setting.gateway_port),
        # A gateway is ready only when an engine is.
        ready_timeout_s=model.engine.killed_after_s + 30.0,
        stop_timeout_s=model.engine.drain_timeout_s + 5.0,
        stop_rank=0,
    )
