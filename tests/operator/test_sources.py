"""Models from packages: a real pip, real wheels from a folder, and wheels that mean harm."""

import stat
import zipfile
from pathlib import Path

import pytest
from trellis_operator.errors import SourceError
from trellis_operator.source import PackageSource
from trellis_operator.sources.package import package_folder
from trellis_operator.sources.wheel import unpack_wheel

SOURCE = PackageSource(name="Tiny.Model", version="1.0", path="tiny_model/files")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip takes wheels from, and nowhere else."""
    folder = tmp_path / "index"
    folder.mkdir()
    for variable in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def make_wheel(folder: Path, files: dict[str, str]) -> Path:
    path = folder / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
        archive.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr("tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\n")
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    return path


def test_a_package_is_downloaded_once_and_then_found_without_pip(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(index, {"tiny_model/files/config.json": "{}"})
    first = package_folder(SOURCE, tmp_path / "cache", print)
    assert (first / "config.json").read_text() == "{}"
    wheel.unlink()
    assert package_folder(SOURCE, tmp_path / "cache", print) == first


def test_only_the_whole_package_is_left_in_the_cache(index: Path, tmp_path: Path) -> None:
    make_wheel(index, {"tiny_model/files/config.json": "{}"})
    package_folder(SOURCE, tmp_path / "cache", print)
    assert [path.name for path in (tmp_path / "cache" / "packages").iterdir()] == ["tiny-model-1.0"]


def test_a_package_that_pip_does_not_find_is_told_in_pips_words_and_leaves_nothing(index: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"could not download Tiny.Model==1.0: No matching distribution"):
        package_folder(SOURCE, tmp_path / "cache", print)
    assert list((tmp_path / "cache" / "packages").iterdir()) == []


def test_a_package_without_a_model_at_the_path_is_told(index: Path, tmp_path: Path) -> None:
    make_wheel(index, {"tiny_model/other/config.json": "{}"})
    with pytest.raises(SourceError, match="has no model at tiny_model/files"):
        package_folder(SOURCE, tmp_path / "cache", print)


def test_an_installed_package_of_that_version_is_used_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    unpack_wheel(make_wheel(tmp_path, {"tiny_model/files/config.json": "{}"}), site)
    monkeypatch.syspath_prepend(str(site))
    assert package_folder(SOURCE, tmp_path / "cache", print) == site / "tiny_model" / "files"
    assert not (tmp_path / "cache").exists()


def test_a_cache_that_cannot_be_written_is_told(index: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with pytest.raises(SourceError, match="cannot write the model"):
        package_folder(SOURCE, tmp_path / "cache", print)


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/evil", "a\\..\\evil", "C:/evil"])
def test_a_wheel_whose_names_lead_outside_writes_nothing(tmp_path: Path, name: str) -> None:
    wheel = make_wheel(tmp_path, {"tiny_model/config.json": "{}", name: "evil"})
    with pytest.raises(SourceError, match="leads outside"):
        unpack_wheel(wheel, tmp_path / "out" / "tree")
    assert not (tmp_path / "out").exists()


def test_a_wheel_with_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "link.whl"
    link = zipfile.ZipInfo("tiny_model/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(SourceError, match="leads outside"):
        unpack_wheel(wheel, tmp_path / "tree")


def test_a_wheel_that_is_no_zip_or_is_damaged_is_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.whl"
    bad.write_bytes(b"not a zip")
    with pytest.raises(SourceError, match="not a sound wheel"):
        unpack_wheel(bad, tmp_path / "tree")
    damaged = make_wheel(tmp_path, {"tiny_model/config.json": "text that is stored as it is"})
    damaged.write_bytes(damaged.read_bytes().replace(b"stored as it is", b"changed by someone"[:15]))
    with pytest.raises(SourceError, match="not a sound wheel"):
        unpack_wheel(damaged, tmp_path / "other")


def test_a_wheel_beyond_the_limits_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel(tmp_path, {"tiny_model/config.json": "{}"})
    monkeypatch.setattr("trellis_operator.sources.wheel.MAX_FILES", 2)
    with pytest.raises(SourceError, match="4 files: more than 2"):
        unpack_wheel(wheel, tmp_path / "tree")
    monkeypatch.setattr("trellis_operator.sources.wheel.MAX_FILES", 10)
    monkeypatch.setattr("trellis_operator.sources.wheel.MAX_BYTES", 3)
    with pytest.raises(SourceError, match="more than 3"):
        unpack_wheel(wheel, tmp_path / "tree")
