"""What the tests on real processes share: the programs, started once where a test does not harm them, and the texts."""

from collections.abc import Generator, Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from roadkit.busy import Busy, start_busy
from roadkit.corpus import make_corpus
from roadkit.faults import Faults
from roadkit.program import Programs
from roadkit.stack import KEY, Gateway, Stack, Starter
from tokenizers import Tokenizer
from trellis_operator.sources.cache import default_cache

from bench.texts import plain


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put what the programs said last into the report of a failed test."""
    report = yield
    programs = getattr(item, "funcargs", {}).get("programs")
    if report.failed and programs is not None:
        report.sections.extend((f"last lines of {name}", tail) for name, tail in programs.last_words())
    return report


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    """Every child process of the session; those that live at the end are stopped."""
    programs = Programs(tmp_path_factory.mktemp("programs"))
    yield programs
    programs.stop()


@pytest.fixture(scope="session")
def starter(programs: Programs, minilm: Path) -> Starter:
    """Starts more programs."""
    return Starter(programs, minilm)


@pytest.fixture(scope="session")
def stack(starter: Starter) -> Stack:
    """One gateway and one fp32 engine, for tests that leave both as they were."""
    return starter.stack()


@pytest.fixture(scope="session")
def guarded(starter: Starter, stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    """A gateway that asks for a key, in front of the shared engine."""
    keys = tmp_path_factory.mktemp("keys") / "keys.txt"
    keys.write_text(f"# the only one\n{KEY}\n", encoding="utf-8")
    return starter.gateway([stack.engine], "--api-keys-file", str(keys))


@pytest.fixture(scope="session")
def busy(starter: Starter, tmp_path_factory: pytest.TempPathFactory) -> Busy:
    """A stack whose queue can be filled, and whose engine fails on command."""
    return start_busy(starter, Faults(tmp_path_factory.mktemp("faults")))


@pytest.fixture(scope="session")
def tokenizer(minilm: Path) -> Tokenizer:
    """The model's tokenizer, which neither truncates nor pads: the reference for counts and ids."""
    return plain(minilm / "tokenizer.json")


@pytest.fixture(scope="session")
def corpus(tokenizer: Tokenizer) -> list[str]:
    """200 texts in all scripts, 3 to 256 tokens."""
    return make_corpus(tokenizer, default_cache() / "npm")


@pytest.fixture(scope="session")
def reference(minilm: Path, corpus: list[str]) -> NDArray[np.float32]:
    """The corpus as sentence-transformers sees it in float32: [200, 384], unit norm."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(minilm), device="cpu", local_files_only=True)
    return np.asarray(model.encode(corpus, batch_size=16, convert_to_numpy=True), dtype=np.float32)
