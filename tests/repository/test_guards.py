"""What must stay true of the repository as a whole."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = {".py", ".md", ".toml", ".yaml", ".yml", ".txt", ".json", ".proto", ".sh", ".mk", ".lua", ".mjs", ""}


def committed() -> list[Path]:
    """The files that git knows: what lies about beside them is nobody's business."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def texts() -> list[tuple[Path, str]]:
    return [(path.relative_to(ROOT), path.read_text(encoding="utf-8")) for path in committed() if path.suffix in TEXT]


@pytest.mark.parametrize("root", ["operator", "services"])
def test_import_roots_are_not_packages(root: str) -> None:
    assert not (ROOT / root / "__init__.py").exists()


@pytest.mark.parametrize("folder", [".", "operator", "services"])
def test_a_python_started_in_the_repository_gets_the_standard_operator_module(folder: str) -> None:
    script = "import operator, collections; print(operator.__file__); operator.itemgetter"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONSAFEPATH"}
    started = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT / folder, capture_output=True, text=True, check=True, env=environment
    )
    assert Path(started.stdout.strip()) == Path(os.__file__).parent / "operator.py"


def test_the_layers_hold() -> None:
    checked = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_constraints_are_exact_public_versions_from_any_index() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*( ; .+)?", line)] == []


def test_constraints_pin_every_direct_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + [line for name in ("operator", "ivy", "engine", "dev") for line in extras[name]]
    pinned = {_normalized(line.split("==")[0]) for line in (ROOT / "constraints.txt").read_text().splitlines()}
    names = {_normalized(re.split(r"[^A-Za-z0-9._-]", line)[0]) for line in wanted}
    assert names - pinned == {"trellis-serve"}


def test_no_file_names_a_machine_or_a_registry() -> None:
    """Paths of one machine and hosts of one registry work for nobody else."""
    forbidden = re.compile(
        "|".join(
            ("/" + "work/", "/" + "tmp/brief", "/" + "root/", r"files\.python" + "hosted", r"registry\.npm" + "js")
        )
    )
    found = [f"{path}: {match.group()}" for path, text in texts() for match in forbidden.finditer(text)]
    assert found == []


def test_python_files_stay_small_enough_to_be_read() -> None:
    long = [
        str(path)
        for path, text in texts()
        if path.suffix == ".py" and path.parts[0] in ("operator", "services") and len(text.splitlines()) > 300
        if not path.stem.endswith(("_pb2", "_pb2_grpc"))
    ]
    assert long == []


def test_no_test_folder_is_a_package() -> None:
    assert [path for path in committed() if path.name == "__init__.py" and "tests" in path.parts] == []


def test_tests_on_a_cluster_are_all_that_two_folders_hold_and_lie_nowhere_else() -> None:
    """`tests/all` and `make e2e` look for them nowhere else, and for no other tests there."""
    folders = [Path("tests/cluster"), Path("tests/e2e")]
    python = [path.relative_to(ROOT) for path in committed() if path.suffix == ".py" and "tests" in path.parts]
    held = {path for path in python if path.name.startswith("test_") and any(f in path.parents for f in folders)}
    # Spelt apart, lest this file seem to be on a cluster.
    marked = {path for path in python if re.search(r"\bmark\." + "cluster", (ROOT / path).read_text())}
    assert marked == held
    whole = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.cluster\b", re.MULTILINE)
    assert {path for path in held if not whole.search((ROOT / path).read_text())} == set()


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
