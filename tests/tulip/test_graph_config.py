"""The flags of graphs and of the warm-up: what they become, and what is refused."""

import argparse
from collections.abc import Callable

import pytest
from tulip_rose.rose.options import GraphOptions
from tulip_rose.tulip.errors import ConfigError
from tulip_rose.tulip.graph_arguments import add_graphs, graph_config
from tulip_rose.tulip.graph_config import GraphConfig

Read = Callable[..., GraphConfig]


@pytest.fixture
def read() -> Read:
    def config(*flags: str) -> GraphConfig:
        parser = argparse.ArgumentParser()
        add_graphs(parser)
        return graph_config(parser.parse_args(flags))

    return config


def test_nothing_said_is_the_engines_own_default(read: Read) -> None:
    assert read() == GraphConfig()
    assert read().options(None) == GraphOptions()


def test_every_flag_reaches_the_engine(read: Read) -> None:
    config = read(
        *("--graphs", "lazy", "--graph-token-multiple", "128", "--graph-slots", "4,16", "--graph-prewarm"),
        *("256x4,1024x16", "--graph-capture-failure", "fail", "--no-warmup-verify", "--warmup-timeout-seconds", "30"),
    )
    assert (config.verify, config.timeout_s) == (False, 30.0)
    assert config.options(2048) == GraphOptions(
        "lazy", 128, (4, 16), most_tokens=2048, most=64, prewarm=((256, 4), (1024, 16)), on_failure="fail"
    )


def test_a_list_that_is_longer_than_usual_is_held_as_a_whole() -> None:
    assert GraphConfig(prewarm=tuple((64 * each, 2) for each in range(1, 129))).options(None).most == 128


def test_without_graphs_nothing_is_said_of_them(read: Read) -> None:
    assert read("--graphs", "off").options(None).mode == "off"


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--graph-slots", "2,x"), "--graph-slots: 'x' is not a whole number"),
        (("--graph-slots", "8,2"), r"--graph-slots: \(8, 2\) are not whole numbers above 0 that ascend"),
        (("--graph-slots", "0,2"), "--graph-slots: "),
        (("--graph-slots", "1"), "--graph-slots: 1: one of 2 or more is needed, .*; 2 alone would do"),
        (("--graph-token-multiple", "0"), "--graph-token-multiple: 0 is not"),
        (("--graph-prewarm", "64"), "--graph-prewarm: '64' is not TOKENSxSLOTS"),
        (("--graph-prewarm", "64x-2"), "--graph-prewarm: '-2' is not a whole number"),
        (("--graph-prewarm", "65x2"), "--graph-prewarm: 65x2: not a multiple of 64 tokens"),
        (("--graph-prewarm", "0x2"), "--graph-prewarm: 0x2: not a multiple"),
        (("--graph-prewarm", "64x3"), "--graph-prewarm: 64x3: the slots are one of 2, 8, 32, 128, 512"),
        (("--graph-prewarm", "64x2", "--graphs", "off"), "--graph-prewarm: there are no graphs with --graphs off"),
        (("--warmup-timeout-seconds", "0"), "--warmup-timeout-seconds: 0.0 is not a finite number above 0"),
        (("--warmup-timeout-seconds", "nan"), "--warmup-timeout-seconds: nan"),
    ],
)
def test_a_bad_value_stops_the_start_and_names_the_flag(read: Read, flags: tuple[str, ...], text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        read(*flags)
