"""Real faults of real processes: the alerts fire in a real Prometheus and reach who is on call through Alertmanager.

The rules are those of the chart, in fast motion: what takes an hour takes a minute here (`monitorkit.shortened`).
"""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2ekit.alertmanager import alertmanager
from e2ekit.prometheus import Prometheus, running
from monitorkit.fleet import Fleet, Gateway, troubled
from monitorkit.inbox import Inbox
from monitorkit.programs import model
from monitorkit.proved import BY_PROCESSES, FOLLOWS
from monitorkit.rules import fast_rules
from monitorkit.targets import scrape_config
from roadkit.program import Programs
from roadkit.stack import Starter
from roadkit.waiting import until

from helm.monitoring.pages import ROOT

pytestmark = [pytest.mark.processes, pytest.mark.timeout(600)]

FACTOR = 60
_ALERT_S = 240.0
_ADDRESSED = [(label, alert) for label, alerts in BY_PROCESSES.items() for alert in sorted(alerts)]


@pytest.fixture(scope="module")
def inbox(
    programs: Programs, starter: Starter, minilm: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Inbox]:
    """What who is on call gets, while every model is in trouble."""
    folder = tmp_path_factory.mktemp("troubled")
    inbox = Inbox()
    fleet = Fleet(programs, starter, folder, minilm)
    with troubled(fleet) as gone, alertmanager(folder, webhook=inbox.url) as manager:
        config = scrape_config(model(), fleet.targets, fleet.others)
        config["rule_files"] = [str(fast_rules(folder, FACTOR))]
        config["alerting"] = {"alertmanagers": [manager.target]}
        with running(folder, config) as prometheus:
            restarts = threading.Thread(target=_restart, args=(gone, prometheus), daemon=True)
            restarts.start()
            yield inbox
            restarts.join()
    inbox.close()


def _restart(gateway: Gateway, prometheus: Prometheus) -> None:
    """End a gateway and let it begin again, three times; Prometheus sees each."""
    started = 'process_start_time_seconds{embedding_model="gone"}'
    until(lambda: _values(prometheus, started), "the gateway was scraped", _ALERT_S)
    for _ in range(3):
        before = _values(prometheus, started)
        gateway.program.kill()
        gateway.start()
        until(lambda seen=before: _values(prometheus, started) - seen, "it was scraped again", _ALERT_S)


def _values(prometheus: Prometheus, expression: str) -> set[str]:
    return {each["value"][1] for each in prometheus.query(expression)}


@pytest.mark.parametrize(("label", "alert"), _ADDRESSED)
def test_a_real_fault_reaches_who_is_on_call(inbox: Inbox, label: str, alert: str) -> None:
    until(lambda: alert in inbox.names(embedding_model=label), f"{alert} of {label} has come", _ALERT_S)


def test_nothing_else_is_told_than_what_is_wrong(inbox: Inbox) -> None:
    for label, alerts in BY_PROCESSES.items():
        assert inbox.names(embedding_model=label) <= alerts | FOLLOWS.get(label, set()), label
    assert {alert["labels"].get("embedding_model", "") for alert in inbox.alerts} <= set(BY_PROCESSES)


def test_what_is_told_names_the_model_and_the_page_to_open(inbox: Inbox) -> None:
    for alert in inbox.alerts:
        said = alert["annotations"]
        assert alert["labels"]["severity"] in {"page", "ticket"}
        assert (ROOT / said["runbook"]).is_file()
        of_a_model = "embedding_model" in alert["labels"]
        assert said["summary"].startswith("troubled/" if of_a_model else "The operator in troubled: ")
        assert "<no value>" not in str(said)
        assert "NaN" not in said["summary"]
