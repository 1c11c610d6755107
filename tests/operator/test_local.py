"""`python -m trellis_operator local` with the real gateway and engine: what a person at a terminal meets."""

import contextlib
import json
import math
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.processes

DEADLINE_S = 120.0
LOCAL = (sys.executable, "-m", "trellis_operator", "local")

Body = dict[str, Any]
WriteManifest = Callable[[Body], Path]


class Running:
    """A `local` under way, and what it has said so far."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen([*LOCAL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said: list[str] = []
        self.answers: list[str] = []
        self._listeners = [
            threading.Thread(target=lambda: self.said.extend(self.process.stderr or ())),
            threading.Thread(target=lambda: self.answers.extend(self.process.stdout or ())),
        ]
        for listener in self._listeners:
            listener.start()

    def until(self, holds: Callable[[], Any]) -> Any:
        """Poll until something holds; tell all that was said if it does not in time."""
        deadline = time.monotonic() + DEADLINE_S
        while not (value := holds()):
            if time.monotonic() > deadline or (self.process.poll() is not None and not holds()):
                pytest.fail("waited in vain; it said:\n" + "".join(self.said))
            time.sleep(0.05)
        return value

    def match(self, pattern: str) -> re.Match[str] | None:
        """The last line said that matches."""
        return next((found for line in reversed(self.said) if (found := re.search(pattern, line))), None)

    def until_ready(self) -> str:
        """Wait for the greeting; returns the URL."""
        ready = self.until(lambda: self.match(r"ready: (http\S+) serves"))
        self.until(lambda: sum(line.startswith(("curl", "python3")) for line in self.answers) == 2)
        return str(ready.group(1))

    def pid_of(self, name: str) -> int:
        """Of the newest run of a program."""
        ready = self.match(rf"{name}: ready after .* \(process (\d+)\)")
        assert ready, self.said
        return int(ready.group(1))

    def end(self, number: signal.Signals) -> int:
        """Send a signal and wait for the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(DEADLINE_S)
        for listener in self._listeners:
            listener.join(DEADLINE_S)
        return code


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[Running]:
    local = Running(*arguments, "--port", "0")
    try:
        yield local
    finally:
        if local.process.poll() is None:
            local.end(signal.SIGTERM)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def refused(*arguments: str, **options: Any) -> str:
    """Run a `local` that must fail: exit code 2, no traceback, nothing on standard output; returns its error."""
    ended = subprocess.run([*LOCAL, *arguments], capture_output=True, text=True, timeout=DEADLINE_S, **options)
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    assert "Traceback" not in ended.stderr
    errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, ended.stderr
    return errors[0]


def ask(url: str, texts: str | list[str]) -> list[dict[str, Any]]:
    request = urllib.request.Request(
        url, json.dumps({"model": "all-minilm-l6-v2", "input": texts}).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=DEADLINE_S) as answer:
        found: list[dict[str, Any]] = json.load(answer)["data"]
        return found


def embed(url: str, text: str) -> list[float]:
    vector: list[float] = ask(url, text)[0]["embedding"]
    return vector


def in_flight(url: str) -> float:
    with urllib.request.urlopen(urllib.parse.urljoin(url, "/metrics"), timeout=DEADLINE_S) as answer:
        said = answer.read().decode()
    found = re.search(r"^trellis_gateway_requests_in_flight (\S+)$", said, re.MULTILINE)
    assert found, said
    return float(found[1])


def embeds(url: str) -> bool:
    try:
        return len(embed(url, "again")) == 384
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


@pytest.fixture
def manifest(examples: Path) -> str:
    return str(examples / "minilm.yaml")


@pytest.fixture
def local(manifest: str, minilm: Path) -> Iterator[Running]:
    with running(manifest, "--model", str(minilm)) as started:
        started.until_ready()
        yield started


def test_once_prints_one_answer_and_stops(manifest: str, minilm: Path) -> None:
    command = [*LOCAL, manifest, "--model", str(minilm), "--port", "0", "--once", "Hello, world"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout)
    vector = answer["data"][0]["embedding"]
    assert (answer["model"], len(vector)) == ("all-minilm-l6-v2", 384)
    assert math.isclose(math.hypot(*vector), 1.0, abs_tol=1e-5)


def test_the_lines_of_the_greeting_work_when_pasted(local: Running) -> None:
    curl, python = (line for line in local.answers if line.strip())
    asked = subprocess.run(["bash", "-c", curl], capture_output=True, text=True, timeout=30, check=True)
    assert len(json.loads(asked.stdout)["data"][0]["embedding"]) == 384
    asked = subprocess.run(["bash", "-c", python], capture_output=True, text=True, timeout=30, check=True)
    assert len(json.loads(asked.stdout)) == 4


@pytest.mark.parametrize(("kind", "shown"), [("reranker", "relevance_score"), ("splade", "value")])
def test_the_greeting_of_a_model_without_dense_vectors_works_too(
    minimal: Body, write_manifest: WriteManifest, without_vectors: Callable[[str], Path], kind: str, shown: str
) -> None:
    minimal["spec"].pop("embedding", None)
    with running(str(write_manifest(minimal)), "--model", str(without_vectors(kind))) as local:
        local.until_ready()
        for line in filter(str.strip, local.answers):
            asked = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=30, check=True)
            assert shown in asked.stdout


def test_with_api_keys_the_greeting_takes_the_key_from_the_environment(
    manifest: str, minilm: Path, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    keys.write_text("# of the test\nsk-first\nsk-second\n")
    with running(manifest, "--model", str(minilm), "--api-keys-file", str(keys)) as local:
        url = local.until_ready()
        with pytest.raises(urllib.error.HTTPError, match="401"):
            embed(url, "no key")
        for line in filter(str.strip, local.answers):
            environment = os.environ | {"TRELLIS_API_KEY": "sk-second"}
            asked = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=30, env=environment)
            assert asked.returncode == 0, asked.stderr
            assert "0." in asked.stdout
        assert "sk-" not in "".join(local.said + local.answers)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_gateway_and_then_the_engine_and_leaves_nothing(
    local: Running, number: signal.Signals
) -> None:
    pids = [local.pid_of("engine-0"), local.pid_of("gateway")]
    assert all(map(is_alive, pids))
    assert local.end(number) == 0
    assert not any(map(is_alive, pids))
    assert local.match(r"\] stopped$")


def test_a_signal_that_a_parent_passes_on_once_more_still_finishes_what_was_accepted(local: Running) -> None:
    url = local.until_ready()
    texts = [f"{number} roses climb up a trellis of ivy and tulips " * 12 for number in range(60)]
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask, url, texts)
        local.until(lambda: in_flight(url) == 1)
        # A signal that is still pending would take the next one with it.
        local.process.send_signal(signal.SIGTERM)
        local.until(lambda: local.match("stopping: "))
        assert local.end(signal.SIGTERM) == 0
        assert len(asked.result()) == len(texts)
    assert not local.match("stopping at once")


def test_a_killed_local_leaves_nothing(local: Running) -> None:
    pids = [local.pid_of("engine-0"), local.pid_of("gateway")]
    local.process.kill()
    local.process.wait(DEADLINE_S)
    deadline = time.monotonic() + 10
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_alive, pids))


def test_a_dead_engine_is_started_again_and_vectors_come_back_without_help(local: Running) -> None:
    url = local.until_ready()
    before, first = embed(url, "same"), local.pid_of("engine-0")
    os.kill(first, signal.SIGKILL)
    local.until(lambda: local.pid_of("engine-0") != first)
    local.until(lambda: embeds(url))
    assert embed(url, "same") == before
    assert local.match("engine-0 was killed by signal 9")


def test_a_dead_gateway_is_started_again_on_its_port(local: Running) -> None:
    url = local.until_ready()
    os.kill(local.pid_of("gateway"), signal.SIGKILL)
    local.until(lambda: local.match("gateway was killed by signal 9"))
    local.until(lambda: embeds(url))


def test_engines_are_as_many_as_the_manifest_says(minimal: Body, write_manifest: WriteManifest, minilm: Path) -> None:
    minimal["spec"]["engine"]["replicas"] = 2
    with running(str(write_manifest(minimal)), "--model", str(minilm), "--threads", "2") as local:
        url = local.until_ready()
        pids = [local.pid_of(f"engine-{index}") for index in (0, 1)]
        commands = [Path(f"/proc/{pid}/cmdline").read_text().split("\0") for pid in pids]
        assert [command[command.index("--threads") + 1] for command in commands] == ["1", "1"]
        # An engine is ready a moment before the gateway has seen that it is.
        local.until(lambda: sum("ivy.client.watch" in line and "is ready" in line for line in local.said) == 2)
        os.kill(pids[0], signal.SIGKILL)
        assert len(embed(url, "the other one answers")) == 384


def test_a_signal_while_starting_stops_all(manifest: str, minilm: Path) -> None:
    with running(manifest, "--model", str(minilm)) as local:
        local.until(lambda: local.match("starting engine-0"))
        assert local.end(signal.SIGINT) == 0
        assert local.match(r"\] stopped$")


def test_a_taken_port_is_refused_in_one_line(manifest: str, minilm: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refused(manifest, "--model", str(minilm), "--port", port)
    assert said == f"error: port {port} of 127.0.0.1 is taken by another program; choose another one with --port"


def test_an_unknown_field_is_refused_in_one_line(minimal: Body, write_manifest: WriteManifest) -> None:
    minimal["spec"]["engine"]["replica"] = 1
    path = write_manifest(minimal)
    assert refused(str(path)) == f"error: {path}: spec.engine.replica: unknown field, did you mean replicas?"


def test_a_missing_model_folder_is_refused_in_one_line(manifest: str, tmp_path: Path) -> None:
    said = refused(manifest, "--model", str(tmp_path))
    assert said == f"error: --model {tmp_path}: no model there, a config.json is missing"


def test_a_missing_manifest_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "absent.yaml"
    assert refused(str(path)) == f"error: {path}: cannot be read: No such file or directory"


def test_a_source_of_clusters_is_refused_in_one_line(minimal: Body, write_manifest: WriteManifest) -> None:
    minimal["spec"]["model"]["source"] = {"pvc": {"claimName": "models"}}
    assert "which only a cluster mounts" in refused(str(write_manifest(minimal)))


def test_keys_that_only_a_cluster_has_are_refused_in_one_line(minimal: Body, write_manifest: WriteManifest) -> None:
    minimal["spec"]["gateway"]["apiKeysSecretRef"] = {"name": "keys"}
    assert "give the keys with --api-keys-file" in refused(str(write_manifest(minimal)))


def test_a_missing_torch_is_refused_in_one_line(manifest: str, minilm: Path) -> None:
    script = (
        "import sys; sys.modules['torch'] = None; from trellis_operator.__main__ import main;"
        f"sys.exit(main(['local', {manifest!r}, '--model', {str(minilm)!r}]))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=DEADLINE_S)
    assert ended.returncode == 2
    assert ended.stderr == "error: not installed: torch; get it with: pip install 'trellis-serve[engine]'\n"


def test_an_engine_that_cannot_start_is_told_by_its_own_last_line(manifest: str, minilm: Path, tmp_path: Path) -> None:
    """A folder with a tokenizer but of an architecture that nobody knows."""
    for file in minilm.iterdir():
        (tmp_path / file.name).symlink_to(file)
    config = json.loads((tmp_path / "config.json").read_text()) | {"architectures": ["Oracle"], "model_type": "oracle"}
    (tmp_path / "config.json").unlink()
    (tmp_path / "config.json").write_text(json.dumps(config))
    said = refused(manifest, "--model", str(tmp_path), "--port", "0")
    assert said.startswith("error: engine-0 ended with code 2: ")
    assert "oracle" in said.lower()
