"""The names that two programs compare: what changes them, and what does not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from trellis_wire.contents import RECORD, full_digest, read_contents, texts_in

Change = Callable[[Path], object]


def weights(folder: Path, **changed: float) -> None:
    """Three tensors of 20,000 bytes; those that are named hold other numbers."""
    tensors = {name: np.full(5000, changed.get(name, 1.0), np.float32) for name in ("a", "b", "c")}
    save_file(tensors, folder / "model.safetensors")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "model"
    (made / "1_Pooling").mkdir(parents=True)
    for name in ("config.json", "tokenizer.json", "vocab.txt", "1_Pooling/config.json"):
        (made / name).write_text(name)
    weights(made)
    return made


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "tokenizer.json").write_text("another"),
        lambda folder: (folder / "vocab.txt").unlink(),
        lambda folder: (folder / "vocab.txt").rename(folder / "words.txt"),
        lambda folder: (folder / "1_Pooling/config.json").write_text("another"),
        lambda folder: (folder / "chat_template.jinja").write_text("new"),
    ],
)
def test_what_a_gateway_reads_changes_both_names(folder: Path, change: Change) -> None:
    before = read_contents(folder)
    change(folder)
    after = read_contents(folder)
    assert after.texts == texts_in(folder) != before.texts
    assert after.whole != before.whole


@pytest.mark.parametrize("tensor", ["a", "b", "c"])
def test_other_weights_of_the_same_shape_change_the_name_of_the_whole_alone(folder: Path, tensor: str) -> None:
    before = read_contents(folder)
    weights(folder, **{tensor: 2.0})
    after = read_contents(folder)
    assert after.whole != before.whole
    assert after.texts == before.texts


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "README.md").write_text("words"),
        lambda folder: (folder / ".cache.json").write_text("hidden"),
        lambda folder: (folder / "pytorch_model.bin").write_bytes(b"a pickle"),
        lambda folder: shutil.copytree(folder, folder.parent / "copy"),
    ],
)
def test_what_no_model_is_read_from_changes_nothing(folder: Path, change: Change) -> None:
    before = read_contents(folder)
    change(folder)
    assert read_contents(folder) == before


def test_what_a_fetch_has_noted_counts_and_tells_the_revision(folder: Path) -> None:
    before = read_contents(folder)
    names = set()
    for checksum in ("sha256:1", "sha256:2"):
        said = {"revision": "c0ffee", "files": {"model.safetensors": {"size": 1, "checksum": checksum}}}
        (folder / RECORD).write_text(json.dumps(said))
        found = read_contents(folder)
        assert (found.revision, found.texts) == ("c0ffee", before.texts)
        names.add(found.whole)
    assert len(names | {before.whole}) == 3


def test_a_folder_that_is_no_model_has_a_name_all_the_same(tmp_path: Path) -> None:
    assert read_contents(tmp_path / "nothing").whole
    (tmp_path / "model.safetensors").write_bytes(b"\xff" * 20)
    assert read_contents(tmp_path).whole


def test_a_digest_stands_alone_where_contents_are_not_known() -> None:
    assert full_digest("sha256:a", "") == "sha256:a"
    assert full_digest("sha256:a", "b") == "sha256:a+b"
