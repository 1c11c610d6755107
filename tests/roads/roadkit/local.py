"""`python -m trellis_operator local` as a process, and the processes that it keeps running."""

import re
from dataclasses import dataclass
from pathlib import Path

import psutil
import yaml
from roadkit.ports import free_ports
from roadkit.program import Program, Programs
from roadkit.stack import responds
from roadkit.waiting import until

_EXAMPLE = Path(__file__).parents[3] / "examples" / "minilm.yaml"
_READY_TIMEOUT_S = 180.0


@dataclass(frozen=True)
class Local:
    """A manifest that runs here. Requests call its model `minilm`."""

    program: Program
    url: str

    def engine_pid(self, index: int) -> int:
        """The process of an engine that was ready last."""
        found = re.findall(rf"engine-{index}: ready .*\(process (\d+)\)", self.program.log.read_text(encoding="utf-8"))
        return int(found[-1])

    def ready_engines(self) -> int:
        """How many of the engines that were ready last still run."""
        return sum(psutil.pid_exists(self.engine_pid(index)) for index in (0, 1))

    def children(self) -> list[psutil.Process]:
        """The programs that it keeps running."""
        return psutil.Process(self.program.pid).children(recursive=True)


def start_local(programs: Programs, model: Path, engines: int) -> Local:
    """Run the example's manifest with this many engines, and wait until it serves."""
    manifest = yaml.safe_load(_EXAMPLE.read_text(encoding="utf-8"))
    manifest["spec"]["engine"]["replicas"] = engines
    manifest["spec"]["model"]["servedNames"] = ["minilm"]
    [port] = free_ports(1)
    path = programs.folder / f"manifest-{port}.yaml"
    path.write_text(yaml.safe_dump(manifest), encoding="utf-8")
    arguments = ["-m", "trellis_operator", "local", str(path), "--model", str(model), "--port", str(port)]
    local = Local(programs.python("local", arguments), f"http://127.0.0.1:{port}")

    def ready_or_dead() -> bool:
        assert local.program.alive, local.program.tail()
        all_said = all(f"engine-{index}: ready" in local.program.tail(100) for index in range(engines))
        return all_said and responds(local.url, "/readyz", 200)

    until(ready_or_dead, "the manifest runs", _READY_TIMEOUT_S)
    return local
