"""The flags of an operator about Prometheus: which one, and how KEDA shows it who it is."""

import argparse
import re
from collections.abc import Iterable

import pytest
from trellis_operator.cluster.config import OperatorConfig
from trellis_operator.cluster.flags import add_run_flags, operator_config
from trellis_operator.desired.setting import Authentication
from trellis_operator.errors import OperatorError

URL = "http://prometheus.monitoring:9090"


def told(flags: Iterable[str]) -> OperatorConfig:
    parser = argparse.ArgumentParser()
    add_run_flags(parser)
    return operator_config(parser.parse_args(list(flags)))


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        ((), None),
        (
            ("--prometheus-authentication", "TriggerAuthentication/a"),
            Authentication("TriggerAuthentication", "a", ("bearer",)),
        ),
        (
            ("--prometheus-authentication", "ClusterTriggerAuthentication/b.c", "--prometheus-auth-modes", "tls,basic"),
            Authentication("ClusterTriggerAuthentication", "b.c", ("tls", "basic")),
        ),
    ],
)
def test_an_operator_is_told_by_flags_how_keda_shows_who_it_is(
    flags: tuple[str, ...], found: Authentication | None
) -> None:
    assert told(("--prometheus-url", URL, *flags)).prometheus_authentication == found


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--prometheus-url", URL, "--prometheus-authentication", "Secret/a"), "'Secret/a' is not TriggerAuth"),
        (("--prometheus-url", URL, "--prometheus-authentication", "TriggerAuthentication"), "is not TriggerAuth"),
        (("--prometheus-url", URL, "--prometheus-authentication", "TriggerAuthentication/A_"), "is not TriggerAuth"),
        (
            (
                "--prometheus-url",
                URL,
                "--prometheus-authentication",
                "TriggerAuthentication/a",
                "--prometheus-auth-modes",
                "x",
            ),
            "--prometheus-auth-modes: 'x' is not of",
        ),
        (("--prometheus-authentication", "TriggerAuthentication/a"), "is for --prometheus-url"),
    ],
)
def test_flags_that_cannot_be_meant_are_refused(flags: tuple[str, ...], said: str) -> None:
    with pytest.raises(OperatorError, match=re.escape(said)):
        told(flags)
