"""`plan-buckets`: from a file that an engine or a person wrote to a manifest that the operator takes."""

import argparse
import io
import json
import re
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
import yaml
from prometheus_client import generate_latest
from trellis_operator.validate import validate
from tulip_rose.__main__ import main
from tulip_rose.planning.command import add_plan_buckets
from tulip_rose.planning.read import of_json, of_metrics
from tulip_rose.tulip.metrics import Metrics

ROOT = Path(__file__).parents[2]


def scrape(batches: list[tuple[int, int]]) -> str:
    metrics = Metrics()
    for sequences, tokens in batches:
        metrics.launched(sequences, tokens)
    return generate_latest(metrics.registry).decode()


@pytest.fixture
def batches() -> list[tuple[int, int]]:
    random = Random(5)
    counts = [1 + int(random.expovariate(0.3)) for _ in range(500)]
    return [(count, sum(random.randint(3, 200) for _ in range(count))) for count in counts]


@pytest.fixture
def counted(tmp_path: Path, batches: list[tuple[int, int]]) -> Path:
    path = tmp_path / "seen.json"
    path.write_text(json.dumps({"batches": [[*batch, 1] for batch in batches]}))
    return path


def cuda_graphs(printed: str) -> dict[str, object]:
    found: dict[str, object] = yaml.safe_load(printed[printed.index("cudaGraphs:") :])["cudaGraphs"]
    return found


@pytest.mark.parametrize("flags", [(), ("--graphs", "4"), ("--coverage-percent", "100"), ("--slot-rows", "0")])
def test_the_operator_takes_the_manifest_that_is_printed(
    counted: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...]
) -> None:
    assert main(["plan-buckets", str(counted), *flags]) == 0
    manifest = yaml.safe_load((ROOT / "examples" / "full.yaml").read_text())
    manifest["spec"]["engine"]["cudaGraphs"] = graphs = cuda_graphs(capsys.readouterr().out)
    assert validate(manifest)["spec"]["engine"]["cudaGraphs"]["prewarm"] == graphs["prewarm"]


def test_the_table_says_what_the_plan_wastes_beside_the_default(
    counted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan-buckets", str(counted)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("500 batches of 1 to ")
    [proposed] = [line for line in printed.splitlines() if line.startswith("| proposed")]
    [default] = [line for line in printed.splitlines() if line.startswith("|  default")]
    assert proposed.count("%") == default.count("%") == 3
    assert "| 2 8 32 128 512 |" in default
    assert "Estimated" not in printed


def test_a_scrape_of_the_engine_is_read_and_called_an_estimate(
    tmp_path: Path, batches: list[tuple[int, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "metrics.txt"
    path.write_text(scrape(batches))
    assert main(["plan-buckets", str(path)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("500 batches of ")
    assert "Estimated: " in printed
    assert cuda_graphs(printed)["prewarm"]


def test_standard_input_is_read_too(counted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(counted.read_bytes())))
    assert main(["plan-buckets", "-"]) == 0


def test_a_budget_that_is_too_small_says_so(counted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan-buckets", str(counted), "--graphs", "1", "--coverage-percent", "100"]) == 0
    printed = capsys.readouterr().out
    assert "The budget of 1 graphs gives " in printed
    assert len(cuda_graphs(printed)["prewarm"]) == 1


def test_engines_are_counted_together() -> None:
    one, other = scrape([(1, 100)] * 30), scrape([(40, 5000)] * 10)
    labelled = [text.replace('{le="', f'{{pod="{pod}",le="') for pod, text in (("a", one), ("b", other))]
    seen = of_metrics("\n".join(labelled))
    assert seen.counts.sum() == pytest.approx(40)
    assert seen.counts[seen.tokens <= 128].sum() == pytest.approx(30, abs=0.1)


def test_counts_of_one_kind_add_up() -> None:
    seen = of_json('{"batches": [[1, 9, 2], [1, 9, 3], [2, 9, 0]]}')
    assert (seen.sequences.tolist(), seen.tokens.tolist(), seen.counts.tolist()) == ([1], [9], [5.0])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no trellis_engine_batch_tokens_bucket in it; expected an engine's /metrics"),
        ("{", "Expecting property name"),
        ("{}", "expected "),
        ('{"batches": 3}', "expected "),
        ('{"batches": [], "more": 1}', "expected "),
        ('{"batches": []}', "no batch was seen"),
        ('{"batches": [[1, 2, 3], [4, 5]]}', r"batches\[1\] is not"),
        ('{"batches": [[1, 2, true]]}', r"batches\[0\] is not"),
        ('{"batches": [[9, 2, 1]]}', "9 sequences and 2 tokens cannot be"),
    ],
)
def test_a_file_that_says_nothing_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, why: str
) -> None:
    path = tmp_path / "seen"
    path.write_text(text)
    assert main(["plan-buckets", str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.search(why, printed.err)
    assert printed.err.startswith(f"tulip: {path}: ")
    assert printed.err.count("\n") == 1


def test_an_engine_that_has_seen_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no batch was seen"):
        of_metrics(scrape([]))


@pytest.mark.parametrize(
    ("found", "expected", "why"),
    [
        ('le="64.0"} 1.0', 'le="64.5"} 1.0', "not whole numbers"),
        ('tokens_bucket{le="+Inf"} 1.0', 'tokens_bucket{le="+Inf"} 0.0', "falls from one edge"),
        ('tokens_bucket{le="+Inf"} 1.0', 'tokens_bucket{le="70000"} 1.0', "then \\+Inf"),
        ('tokens_bucket{le="64.0"} 1.0', 'tokens_bucket{le="64.0"} x', "."),
    ],
)
def test_a_broken_histogram_is_refused(found: str, expected: str, why: str) -> None:
    text = scrape([(1, 50)])
    assert found in text
    with pytest.raises(ValueError, match=why):
        of_metrics(text.replace(found, expected))


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (("--graphs", "0"), "--graphs: 0 is not 1 to 128"),
        (("--graphs", "129"), "--graphs: 129 is not 1 to 128"),
        (("--max-input-tokens", "0"), "--max-input-tokens: 0 is not a whole number above 0"),
        (("--coverage-percent", "0"), "--coverage-percent: 0 is not above 0"),
        (("--coverage-percent", "nan"), "--coverage-percent: nan is not"),
        (("--slot-rows", "-1"), "--slot-rows: -1 is not 0 to 1000"),
    ],
)
def test_a_bad_flag_is_named(capsys: pytest.CaptureFixture[str], flags: tuple[str, str], why: str) -> None:
    assert main(["plan-buckets", "/nowhere", *flags]) == 2
    assert capsys.readouterr().err.startswith(f"tulip: {why}")


def test_counts_of_texts_that_are_too_long_are_refused_by_file(
    counted: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan-buckets", str(counted), "--max-input-tokens", "9"]) == 2
    assert f"{counted}: 1 sequences of at most 9 tokens never have" in capsys.readouterr().err


def test_a_missing_file_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan-buckets", "/nowhere"]) == 2
    assert capsys.readouterr().err == "tulip: /nowhere: No such file or directory\n"


def test_every_flag_has_a_sentence_of_help() -> None:
    parser = add_plan_buckets(argparse.ArgumentParser().add_subparsers())
    assert [flag.dest for flag in parser._actions if flag.dest != "help" and "." not in (flag.help or "")] == []
