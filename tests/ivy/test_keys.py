"""The file, or the folder, of API keys."""

from pathlib import Path

import pytest
from ivy.errors import ConfigError
from ivy.keys import read_keys


def test_a_mounted_secret_is_read_as_all_of_its_values(tmp_path: Path) -> None:
    hidden = tmp_path / "..2026"
    hidden.mkdir()
    (hidden / "team-a").write_text("first\n# old: zero\nsecond\n")
    (hidden / "team-b").write_text("third")
    (tmp_path / "..data").symlink_to(hidden)
    for name in ("team-a", "team-b"):
        (tmp_path / name).symlink_to(Path("..data") / name)
    assert read_keys(tmp_path) == (b"first", b"second", b"third")


def test_a_folder_without_a_key_does_not_leave_the_api_open(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no key in it"):
        read_keys(tmp_path)
