"""The environment of what fetches models: for all models from the operator's flags, for one from its Secret."""

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from trellis_operator.cluster.flags import add_run_flags, operator_config
from trellis_operator.desired.fetch import fetch_container
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.errors import OperatorError
from trellis_operator.spec import EmbeddingModel


def variables(container: dict[str, Any]) -> dict[str, Any]:
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}


def test_a_mirror_reaches_the_fetch_and_the_models_own_token_wins(
    in_cluster: Callable[[dict[str, Any]], EmbeddingModel], full: dict[str, Any], setting: ClusterSetting
) -> None:
    told = replace(setting, fetch_env=(("HF_ENDPOINT", "http://mirror"), ("HF_TOKEN", "for all")))
    seen = variables(fetch_container(in_cluster(full), told, "/models/model", {}))
    assert seen["HF_ENDPOINT"] == "http://mirror"
    assert seen["HF_TOKEN"] == {"secretKeyRef": {"name": "hf", "key": "token"}}


def test_flags_give_names_and_values() -> None:
    parser = argparse.ArgumentParser()
    add_run_flags(parser)
    said = parser.parse_args(["--fetch-env", "A=b=c", "--fetch-env", "EMPTY="])
    assert operator_config(said).fetch_env == (("A", "b=c"), ("EMPTY", ""))
    with pytest.raises(OperatorError, match="'no' is not NAME=VALUE"):
        operator_config(parser.parse_args(["--fetch-env", "no"]))
