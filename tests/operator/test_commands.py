"""From a spec to arguments: what the containers will be given."""

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import pytest
from trellis_operator.commands import EnginePlace, GatewayPlace, engine_command, gateway_command
from trellis_operator.digest import model_digest
from trellis_operator.local.notes import notes
from trellis_operator.local.probe import engine_probe
from trellis_operator.local.programs import Setting, engine_threads, programs
from trellis_operator.spec import EmbeddingModel
from trellis_operator.validate import validate
from tulip_rose.tulip.arguments import add_serve, config_of

Body = dict[str, Any]

ENGINE = EnginePlace(
    model_folder="/model",
    embedding_file="/etc/trellis/embedding.json",
    model_digest="sha256:1",
    listen="0.0.0.0:50051",
    drain_delay_s=10,
    metrics_listen="0.0.0.0:9101",
    device="cuda",
    threads=0,
)
GATEWAY = GatewayPlace(
    model_folder="/model",
    embedding_file="/etc/trellis/embedding.json",
    model_digest="sha256:1",
    listen="0.0.0.0:8080",
    drain_delay_s=10,
    engines=["a:1", "b:2"],
    engines_service=None,
    gateways_service=None,
    api_keys_file="/keys",
)
SETTING = Setting(
    model_folder="/model",
    embedding_file="/embedding.json",
    model_digest="sha256:1",
    api_keys_file=None,
    gateway_port=8080,
    engine_ports=[(1, 2), (3, 4)],
    threads=0,
    cores=8,
)


def model_of(body: Body) -> EmbeddingModel:
    return EmbeddingModel.from_body(validate(body))


def test_an_engine_is_told_what_the_manifest_says_about_engines(full: Body) -> None:
    assert engine_command(model_of(full), ENGINE) == [
        *("-m", "tulip_rose", "serve", "--name", "qwen3-embed", "--metrics-listen", "0.0.0.0:9101"),
        *("--dtype", "bfloat16", "--device", "cuda", "--threads", "0", "--attention-backend", "auto"),
        *("--max-batch-tokens", "16384", "--warmup-timeout-seconds", "600", "--warmup-verify", "--graphs", "lazy"),
        *("--graph-token-multiple", "64", "--graph-slots", "2,8,32,128,512", "--graph-prewarm", "64x2,512x8"),
        *("--graph-capture-failure", "eager", "--model", "/model", "--listen", "0.0.0.0:50051"),
        *("--embedding", "/etc/trellis/embedding.json", "--model-digest", "sha256:1"),
        *("--drain-delay-seconds", "10", "--drain-timeout-seconds", "60"),
        *("--trace-endpoint", "http://collector.monitoring:4317"),
    ]


def test_a_gateway_is_told_what_the_manifest_says_about_gateways(full: Body) -> None:
    assert gateway_command(model_of(full), GATEWAY) == [
        *("-m", "ivy", "serve", "--served-name", "qwen3-embed", "--served-name", "text-embedding-3-small"),
        *("--engines", "a:1,b:2", "--retry-budget-percent", "10", "--slow-start-seconds", "10"),
        *("--max-queued-tokens", "2000000"),
        *("--api-keys-file", "/keys", "--trace-sample-percent", "0.5"),
        *("--model", "/model", "--listen", "0.0.0.0:8080"),
        *("--embedding", "/etc/trellis/embedding.json", "--model-digest", "sha256:1"),
        *("--drain-delay-seconds", "10", "--drain-timeout-seconds", "60"),
        *("--trace-endpoint", "http://collector.monitoring:4317"),
    ]


def test_a_gateway_in_a_cluster_finds_its_engines_by_their_service(full: Body) -> None:
    place = dataclasses.replace(GATEWAY, engines=[], engines_service="search/qwen", gateways_service="search/all")
    full["spec"]["gateway"]["loadBalancing"]["maxEngines"] = 40
    command = gateway_command(model_of(full), place)
    assert command[command.index("--engines-service") + 1] == "search/qwen"
    assert command[command.index("--gateways-service") + 1] == "search/all"
    assert command[command.index("--max-engines") + 1] == "40"
    assert "--engines" not in command


def test_what_the_manifest_leaves_open_is_left_to_the_programs(minimal: Body) -> None:
    model = model_of(minimal)
    assert not {"--max-batch-tokens", "--trace-endpoint"} & set(engine_command(model, ENGINE))
    gateway = gateway_command(model, dataclasses.replace(GATEWAY, api_keys_file=None))
    absent = {"--max-queued-tokens", "--api-keys-file", "--trace-endpoint", "--trace-sample-percent"}
    assert not absent & set(gateway)


@pytest.mark.parametrize(
    ("engine", "there", "absent"),
    [
        ({}, ("--warmup-timeout-seconds",), ("--graphs", "--graph-slots", "--warmup-verify", "--no-warmup-verify")),
        ({"accelerator": {}}, ("--graphs", "--graph-slots", "--warmup-verify"), ("--graph-prewarm",)),
        ({"accelerator": {}, "cudaGraphs": {"mode": "off"}}, ("--graphs",), ("--graph-slots", "--graph-prewarm")),
        ({"accelerator": {}, "warmup": {"verify": False}}, ("--no-warmup-verify",), ("--warmup-verify",)),
    ],
)
def test_graphs_are_told_of_where_there_can_be_any(
    minimal: Body, engine: Body, there: tuple[str, ...], absent: tuple[str, ...]
) -> None:
    minimal["spec"]["engine"] = engine
    command = engine_command(model_of(minimal), ENGINE)
    assert set(there) <= set(command)
    assert not set(absent) & set(command)


def test_slots_are_told_in_order_however_the_manifest_has_them(minimal: Body) -> None:
    minimal["spec"]["engine"] = {"accelerator": {}, "cudaGraphs": {"sequenceSlots": [32, 2]}}
    command = engine_command(model_of(minimal), ENGINE)
    assert command[command.index("--graph-slots") + 1] == "2,32"


def test_every_flag_that_an_engine_is_given_is_one_that_it_has(full: Body, minimal: Body, tmp_path: Path) -> None:
    (tmp_path / "embedding.json").write_text("{}")
    place = dataclasses.replace(ENGINE, model_folder=str(tmp_path), embedding_file=str(tmp_path / "embedding.json"))
    parser = argparse.ArgumentParser()
    add_serve(parser.add_subparsers())
    for body in (full, minimal):
        model = model_of(body)
        config = config_of(parser.parse_args(engine_command(model, place)[2:]))
        assert config.graphs.timeout_s == model.engine.ready_timeout_s
        assert config.graphs.prewarm == (model.engine.graphs.prewarm if model.engine.accelerated else ())


@pytest.mark.parametrize(
    ("accelerator", "device"), [(None, "cpu"), ("nvidia.com/gpu", "auto"), ("trellis.dev/cpu-graphs", "cpu-graphs")]
)
def test_one_machine_runs_an_engine_on_what_it_is_to_have(minimal: Body, accelerator: str | None, device: str) -> None:
    minimal["spec"]["engine"] = {"accelerator": {"resourceName": accelerator}} if accelerator else {}
    command = programs(model_of(minimal), SETTING)[0].command
    assert command[command.index("--device") + 1] == device


def test_an_engine_that_is_late_has_time_to_say_why_before_it_is_killed(full: Body) -> None:
    engine = programs(model_of(full), SETTING)[0]
    assert engine.ready_timeout_s > float(engine.command[engine.command.index("--warmup-timeout-seconds") + 1])


def test_a_model_without_served_names_is_served_under_its_own(minimal: Body) -> None:
    del minimal["spec"]["model"]["servedNames"]
    assert model_of(minimal).model.served_names == ("all-minilm-l6-v2",)


def test_one_machine_runs_all_engines_and_one_gateway_that_knows_them(full: Body) -> None:
    running = programs(model_of(full), SETTING)
    assert [program.name for program in running] == ["engine-0", "engine-1", "gateway"]
    assert "127.0.0.1:1,127.0.0.1:3" in running[2].command


def test_the_gateway_is_stopped_before_the_engines(full: Body) -> None:
    running = programs(model_of(full), SETTING)
    assert max(p.stop_rank for p in running if p.name == "gateway") < min(
        p.stop_rank for p in running if p.name != "gateway"
    )


@pytest.mark.parametrize(
    ("threads", "engines", "each"), [(0, 1, 0), (5, 1, 5), (0, 2, 4), (6, 2, 3), (1, 2, 1), (7, 3, 2)]
)
def test_threads_are_split_over_the_engines(threads: int, engines: int, each: int) -> None:
    ports = [(index, index) for index in range(engines)]
    assert engine_threads(dataclasses.replace(SETTING, threads=threads, engine_ports=ports)) == each


def test_the_digest_does_not_depend_on_the_order_of_fields(minimal: Body) -> None:
    spec = validate(minimal)["spec"]
    turned = dict(reversed([(key, dict(reversed(value.items()))) for key, value in spec.items() if key != "suspend"]))
    assert model_digest(spec) == model_digest(turned)
    assert model_digest(spec).startswith("sha256:")


@pytest.mark.parametrize("change", [{"pooling": "cls"}, {"prompts": {"query": "q: "}}, {"truncation": "start"}])
def test_the_digest_changes_with_whatever_changes_vectors(minimal: Body, change: Body) -> None:
    before = model_digest(validate(minimal)["spec"])
    minimal["spec"]["embedding"] |= change
    assert model_digest(validate(minimal)["spec"]) != before


def test_the_digest_does_not_change_with_what_changes_no_vector(minimal: Body) -> None:
    before = model_digest(validate(minimal)["spec"])
    minimal["spec"]["engine"]["replicas"] = 5
    assert model_digest(validate(minimal)["spec"]) == before


def test_what_one_machine_does_not_do_is_said_in_a_line_each(full: Body, minimal: Body) -> None:
    assert notes(minimal) == []
    assert notes(full) == [
        "ignored on one machine: cache, scheduling, disruption, monitoring.podMonitor, engine.autoscaling, "
        "engine.resources, engine.rollout, gateway.hold, gateway.resources, gateway.expose",
        "gateway.replicas is 2: one gateway runs on one machine",
        "engine.accelerator: engines take a GPU if there is one, else the CPU",
    ]


def test_graphs_are_ignored_where_there_is_no_accelerator_and_nowhere_else(full: Body) -> None:
    assert "engine.cudaGraphs" not in notes(full)[0]
    del full["spec"]["engine"]["accelerator"]
    assert "engine.cudaGraphs" in notes(full)[0]


async def test_an_engine_that_is_not_there_is_not_ready() -> None:
    assert not await engine_probe("127.0.0.1:1")()
