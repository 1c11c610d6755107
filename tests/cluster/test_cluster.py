"""The cluster tool: it comes up once for all who ask, and whatever happened, `down` leaves nothing. Needs root."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(bool(os.environ.get("KUBECONFIG")), reason="with KUBECONFIG no cluster is brought up here"),
]

TOOL = Path(__file__).with_name("cluster")
NAME = "probe"
STATE = Path("/var/tmp/trellis-cluster") / NAME


def tool(*arguments: str, timeout_s: float = 120) -> "subprocess.CompletedProcess[str]":
    environment = os.environ | {"TRELLIS_CLUSTER": NAME}
    command = [TOOL, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False)


def begin(*arguments: str) -> "subprocess.Popen[str]":
    environment = os.environ | {"TRELLIS_CLUSTER": NAME}
    command = [TOOL, *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def left_over() -> list[str]:
    """Files, mounts, cgroups and processes that bear the cluster's name."""
    files = [STATE, Path("/run/trellis-cluster") / NAME, Path("/run/netns") / f"trellis-{NAME}"]
    mounts = [line for line in Path("/proc/self/mounts").read_text().splitlines() if f"trellis-cluster/{NAME}/" in line]
    groups = [str(path) for path in Path("/sys/fs/cgroup").glob(f"**/trellis-{NAME}")]
    commands = [" ".join(each.info["cmdline"] or []) for each in psutil.process_iter(["cmdline"])]
    return [
        *(str(path) for path in files if path.exists()),
        *(mounts + groups),
        *(command[:200] for command in commands if f"trellis-cluster/{NAME}/" in command),
    ]


def kill_all() -> None:
    """End every process of the cluster at once, as a restart of the machine does."""
    deadline = time.monotonic() + 30
    while pids := {
        int(line)
        for group in Path("/sys/fs/cgroup").glob(f"**/trellis-{NAME}/**/cgroup.procs")
        for line in group.read_text().split()
    }:
        assert time.monotonic() < deadline
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@pytest.fixture(autouse=True)
def away() -> Iterator[None]:
    yield
    done = tool("down")
    assert done.returncode == 0, done.stderr


def test_two_who_bring_it_up_at_once_get_the_same_cluster() -> None:
    both = [begin("up", "1"), begin("up", "1")]
    said = [each.communicate(timeout=200)[0] for each in both]
    assert [each.returncode for each in both] == [0, 0], said
    assert all(f"cluster '{NAME}' is up: 1 nodes" in each for each in said)
    assert tool("down").returncode == 0
    assert left_over() == []


def test_after_a_crash_nothing_is_left() -> None:
    assert tool("up", "1").returncode == 0
    for part in ("etcd", "kube-apiserver", "containerd0"):
        psutil.Process(int((STATE / "pid" / part).read_text())).kill()
    for record in (STATE / "pid").iterdir():
        record.unlink()
    done = tool("down")
    assert done.returncode == 0, done.stderr
    assert left_over() == []


def test_a_crashed_cluster_is_replaced_by_a_new_one() -> None:
    assert tool("up", "1").returncode == 0
    psutil.Process(int((STATE / "pid" / "kube-apiserver").read_text())).kill()
    assert tool("up", "1").returncode == 0
    assert "node0" in tool("run", "kubectl", "get", "nodes").stdout


def test_a_cluster_of_which_only_files_are_left_is_not_up() -> None:
    assert tool("up", "1").returncode == 0
    kill_all()
    for asked in ("status", "load"):
        done = tool(asked, "x")
        assert done.returncode == 1
        assert f"cluster '{NAME}' is not up" in done.stdout + done.stderr
    assert tool("up", "1").returncode == 0
    assert "node0" in tool("run", "kubectl", "get", "nodes").stdout


def test_it_is_not_taken_from_under_a_command_that_runs_in_it() -> None:
    assert tool("up", "1").returncode == 0
    using = begin("run", "sh", "-c", "echo begun; sleep 2; kubectl get nodes")
    assert using.stdout is not None
    assert using.stdout.readline() == "begun\n"
    assert tool("down").returncode == 0
    assert "node0" in using.communicate(timeout=10)[0]
    assert using.returncode == 0


def test_a_part_is_stopped_and_started_again() -> None:
    assert tool("up", "1").returncode == 0
    assert tool("stop", "kube-apiserver").returncode == 0
    assert "kube-apiserver is not running" in tool("status").stdout
    assert tool("run", "kubectl", "--request-timeout=2s", "get", "nodes").returncode != 0
    assert tool("start", "kube-apiserver").returncode == 0
    deadline = time.monotonic() + 30
    while tool("run", "kubectl", "get", "nodes").returncode:
        assert time.monotonic() < deadline


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "true"), f"error: cluster '{NAME}' is not up"),
        (("load", "x"), f"error: cluster '{NAME}' is not up"),
        (
            ("build", "nothing"),
            "error: there is no module 'nothing'; there is: kubernetes coredns helm versitygw kwok keda",
        ),
        (("stop",), f"error: cluster '{NAME}' is not up"),
        (("fly",), "cluster up [NODES]"),
    ],
)
def test_what_is_wrong_is_said(arguments: tuple[str, ...], said: str) -> None:
    done = tool(*arguments)
    assert done.returncode != 0
    assert said in done.stderr


def test_a_missing_program_is_named_with_its_package(tmp_path: Path) -> None:
    for name in ("bash", "sed", "cut", "cat", "sort", "xargs", "dirname", "echo", "flock"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}" if Path(f"/usr/bin/{name}").exists() else f"/bin/{name}")
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path), "TRELLIS_CLUSTER": NAME}
    done = subprocess.run([TOOL, "up"], env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "error: these Debian packages are missing: conntrack containerd etcd-server iproute2" in done.stderr
