"""Flags and files become one checked configuration, or one clear line."""

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tulip_rose.__main__ import main
from tulip_rose.rose.card import ModelCard
from tulip_rose.tulip.arguments import add_serve, config_of
from tulip_rose.tulip.config import Address, Budgets, Config, budgets
from tulip_rose.tulip.embedding import EmbeddingOverrides, overrides_of
from tulip_rose.tulip.errors import ConfigError
from tulip_rose.tulip.graph_config import GraphConfig

CARD = ModelCard("ToyModel", "float32", "cpu", "none", 4, (2,), 256, 1000, "mean", True, "digest-1")
Read = Callable[..., Config]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def config(*flags: str) -> Config:
        parser = argparse.ArgumentParser()
        add_serve(parser.add_subparsers())
        return config_of(parser.parse_args(["serve", "--model", str(tmp_path), *flags]))

    return config


def test_the_defaults_are_those_of_the_contract(read: Read, tmp_path: Path) -> None:
    config = read()
    assert config == Config(model=tmp_path, name=tmp_path.name)
    assert (str(config.listen), str(config.metrics_listen)) == ("127.0.0.1:50051", "127.0.0.1:9101")
    assert (config.dtype, config.device, config.threads, config.attention_backend) == ("float32", "auto", 0, "auto")
    assert (config.drain_delay_s, config.drain_timeout_s, config.stuck_after_s) == (0.0, 60.0, 60.0)


def test_every_flag_reaches_its_field(read: Read, tmp_path: Path) -> None:
    spec = tmp_path / "embedding.json"
    spec.write_text(json.dumps({"pooling": "cls", "maxInputTokens": 9}))
    flags = {
        "--name": "m", "--listen": "[::1]:1", "--metrics-listen": "0.0.0.0:2", "--dtype": "bfloat16", "--device": "cpu",
        "--threads": "3", "--attention-backend": "torch", "--model-digest": "d", "--max-batch-tokens": "512",
        "--max-queued-tokens": "1024", "--drain-delay-seconds": "1.5", "--drain-timeout-seconds": "2",
        "--stuck-after-seconds": "3", "--log-level": "error", "--embedding": str(spec),
        "--log-format": "json", "--trace-endpoint": "http://collector:4317",
        "--graphs": "off",
    }  # fmt: skip
    config = read(*[part for pair in flags.items() for part in pair])
    assert config == Config(
        tmp_path, "m", Address("::1", 1), Address("0.0.0.0", 2), "bfloat16", "cpu", 3, "torch", "d",
        EmbeddingOverrides(pooling="cls", max_input_tokens=9), GraphConfig("off"), 512, 1024, 1.5, 2.0, 3.0, "error",
        "json", "http://collector:4317",
    )  # fmt: skip
    options = config.engine_options()
    assert (options.pooling, options.max_input_tokens, options.model_digest) == ("cls", 9, "d")
    assert (options.graphs.mode, options.graphs.most_tokens) == ("off", 512)


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--listen", "50051"), "'50051' is not HOST:PORT"),
        (("--listen", "host:70000"), "is not HOST:PORT"),
        (("--metrics-listen", "host:"), "is not HOST:PORT"),
        (("--threads", "-1"), "--threads: -1"),
        (("--max-batch-tokens", "0"), "--max-batch-tokens: 0"),
        (("--max-queued-tokens", "0"), "--max-queued-tokens: 0"),
        (("--drain-delay-seconds", "-1"), "--drain-delay-seconds: -1"),
        (("--drain-timeout-seconds", "nan"), "--drain-timeout-seconds: nan"),
        (("--stuck-after-seconds", "0"), "--stuck-after-seconds: 0"),
        (("--embedding", "/nowhere.json"), "/nowhere.json: No such file"),
        (("--trace-endpoint", "collector:4317"), "--trace-endpoint: 'collector:4317' is not http://HOST:PORT"),
        (("--trace-endpoint", "http://collector"), "'http://collector' is not http://HOST:PORT"),
        (("--trace-endpoint", "http://u:p@collector:1"), "is not http://HOST:PORT"),
        (("--trace-endpoint", "http://collector:1/v1/traces"), "is not http://HOST:PORT"),
        (("--trace-endpoint", "http://collector:x"), "is not http://HOST:PORT"),
        (("--model", "/nowhere"), "/nowhere is not a folder"),
    ],
)
def test_a_bad_value_stops_the_start_and_names_the_flag(read: Read, flags: tuple[str, str], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        read(*flags)


@pytest.mark.parametrize(
    ("spec", "overrides"),
    [
        ({}, EmbeddingOverrides()),
        ({"truncation": "end", "prompts": {"query": "q: "}, "defaultPrompt": "query"}, EmbeddingOverrides()),
        ({"dimensions": {"allowed": [2, 4]}}, EmbeddingOverrides(allowed_dimensions=(2, 4))),
        ({"dimensions": {}}, EmbeddingOverrides()),
        ({"pooling": "cls+weightedMean"}, EmbeddingOverrides("cls+weightedMean")),
        ({"scoring": {}}, EmbeddingOverrides(scores=True)),
        ({"scoring": {"activation": "none"}}, EmbeddingOverrides(scores=True)),
        (
            {"pooling": "lastToken", "normalize": False, "maxInputTokens": 5},
            EmbeddingOverrides("lastToken", False, None, 5),
        ),
    ],
)
def test_the_engine_reads_its_fields_of_the_manifest(spec: object, overrides: EmbeddingOverrides) -> None:
    assert overrides_of(spec) == overrides


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ([], "not a JSON object"),
        ({"poling": "cls"}, "unknown field 'poling'"),
        ({"pooling": "median"}, "pooling 'median' is not known; known are cls, mean, lastToken, max"),
        ({"pooling": "cls+cls"}, r"pooling 'cls\+cls' is not known"),
        ({"pooling": 3}, "pooling 3 is not a word"),
        ({"normalize": "yes"}, "normalize 'yes' is not true or false"),
        ({"maxInputTokens": 0}, "maxInputTokens 0 is not a whole number"),
        ({"maxInputTokens": True}, "maxInputTokens True is not a whole number"),
        ({"dimensions": {"sizes": []}}, "dimensions is not of the form"),
        ({"dimensions": {"allowed": 2}}, "dimensions.allowed is not a list"),
        ({"dimensions": {"allowed": [2, "4"]}}, r"dimensions.allowed\[1\] '4'"),
    ],
)
def test_a_wrong_field_of_the_manifest_is_named(spec: object, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        overrides_of(spec)


def test_a_file_that_is_not_json_is_named(read: Read, tmp_path: Path) -> None:
    file = tmp_path / "embedding.json"
    file.write_text("pooling: cls")
    with pytest.raises(ConfigError, match=r"embedding\.json: not JSON"):
        read("--embedding", str(file))


@pytest.mark.parametrize(
    ("fields", "card", "expected"),
    [
        ({}, CARD, Budgets(512, 256 * 512)),
        ({}, replace(CARD, device="cuda:0"), Budgets(16384, 64 * 16384)),
        ({}, replace(CARD, device="cpu-graphs"), Budgets(512, 256 * 512)),
        ({"max_batch_tokens": 10}, CARD, Budgets(256, 256 * 256)),
        ({"max_batch_tokens": 512, "max_queued_tokens": 10}, CARD, Budgets(512, 512)),
        ({}, replace(CARD, max_input_tokens=32768), Budgets(32768, 256 * 32768)),
    ],
)
def test_budgets_follow_the_device_and_always_hold_the_longest_text(
    tmp_path: Path, fields: dict[str, int], card: ModelCard, expected: Budgets
) -> None:
    assert budgets(Config(tmp_path, "toy", **fields), card) == expected


def test_every_flag_has_a_sentence_of_help() -> None:
    parser = argparse.ArgumentParser()
    add_serve(parser.add_subparsers())
    serve = parser._subparsers._group_actions[0].choices["serve"]
    assert [flag.dest for flag in serve._actions if flag.dest != "help" and "." not in (flag.help or "")] == []


def test_a_bad_configuration_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--model", "/nowhere"]) == 2
    assert capsys.readouterr().err == "tulip: --model: /nowhere is not a folder\n"
