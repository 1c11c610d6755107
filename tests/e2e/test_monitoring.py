"""What a real Prometheus scrapes on a cluster, and what it tells who is on call when things really go wrong.

`e2ekit.watched` says who is watched. What policies would let a pod of Prometheus read is judged from the policies,
which this cluster takes and does not enforce.
"""

import time
from collections.abc import Iterator

import pytest
from e2ekit.api_server import bring_back, take_away
from e2ekit.cluster import Cluster
from e2ekit.images import Images
from e2ekit.policy import Peer, admits
from e2ekit.troubles import make_trouble
from e2ekit.waiting import until
from e2ekit.watched import BY_ITS_OPERATOR, MODELS, Watched, watching
from monitorkit.boards import choices, filled
from monitorkit.proved import (
    AT_FIRST,
    FOLLOWS,
    OF_FAULTS,
    ON_A_CLUSTER,
    WITHOUT_AN_API_SERVER,
    WITHOUT_AN_OPERATOR,
)

from helm.monitoring.pages import DASHBOARDS, ROOT

pytestmark = pytest.mark.cluster

PROMETHEUS = Peer("monitoring", {"app.kubernetes.io/name": "prometheus"})
STRANGER = Peer("monitoring", {"app.kubernetes.io/name": "web"})
_ALERT_S = 150.0
_ALERTS_S = 300.0
"""For all that is told of the troubles: where nobody tells, each test would wait as long as one alert may take."""


def named(*places: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Of whom, and the name of each alert."""
    return sorted({(whom, alert) for place in places for whom, alerts in place.items() for alert in alerts})


@pytest.fixture(scope="module")
def watched(cluster: Cluster, images: Images, crd: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """All of it, once for the tests of this file."""
    with watching(cluster, images, tmp_path_factory.mktemp("watched")) as watched:
        yield watched


@pytest.fixture(scope="module")
def troubled(watched: Watched, cluster: Cluster, images: Images) -> Iterator[Watched]:
    """All troubles at once; the API server goes when the others have begun. None of it was told before."""
    if not cluster.own:
        pytest.skip("gives engines other code and stops the API server: only on a cluster of our own")
    early = watched.told.names() & set(named(OF_FAULTS, WITHOUT_AN_API_SERVER, WITHOUT_AN_OPERATOR))
    assert not early, "told while all is well, or in a first try that did not come to its end"
    make_trouble(watched, images)
    take_away(cluster)
    yield watched
    bring_back(watched.kubectl)


@pytest.fixture(scope="module")
def deadline(troubled: Watched) -> float:
    """Until when all of it is told, on the monotonic clock."""
    return time.monotonic() + _ALERTS_S


def test_every_pod_of_a_model_is_scraped_through_its_pod_monitor(watched: Watched) -> None:
    found = {(each.get("embedding_model", ""), each.get("container", "")) for each in watched.scraped()}
    serving = {(model, container) for model in "mfh" for container in ("engine", "gateway")}
    assert found == serving | {("n", "gateway"), ("g", "engine"), ("d", "fetch"), ("", "")}
    pods = {pod["metadata"]["name"] for pod in watched.kubectl.all("pods", {"app.kubernetes.io/managed-by": "trellis"})}
    assert {each["pod"] for each in watched.scraped()} - {"operator-0"} <= pods
    # Of two labels of one name Prometheus keeps the target's, and calls the program's `exported_…`.
    assert {each["embedding_model"] for each in watched.scraped() if "endpoint" in each} == set(BY_ITS_OPERATOR)
    assert not [name for name in watched.prometheus.ask("labels") if name.startswith("exported_")]


def test_every_panel_of_every_dashboard_has_data(watched: Watched) -> None:
    chosen = {page.name: choices(watched.prometheus, page) for page in DASHBOARDS}
    asked = [
        (f"{page.title}, {panel.title}", filled(query.expression, chosen[page.name]))
        for page in DASHBOARDS
        for panel in page.panels
        for query in panel.queries
    ]

    def without_data() -> list[str]:
        assert watched.ask() == 200
        some = watched.prometheus.are_some([expression for _, expression in asked])
        return [title for (title, _), found in zip(asked, some, strict=True) if not found]

    try:
        until(lambda: not without_data(), "every panel has data", 90)
    except AssertionError as error:
        raise AssertionError(f"{error}; without: {without_data()}") from None


def test_policies_let_prometheus_read_what_it_scrapes_and_nobody_else_read_engines(watched: Watched) -> None:
    policies = watched.kubectl.all("networkpolicies")
    pods = {pod["metadata"]["name"]: pod for pod in watched.kubectl.all("pods")}
    assert {each["metadata"]["name"] for each in policies} == {f"{model}-engine" for model in MODELS}
    for target in watched.scraped():
        if target["pod"] in pods:
            pod, port = Peer.of(pods[target["pod"]]), int(target["instance"].rpartition(":")[2])
            assert admits(policies, PROMETHEUS, pod, port), target
            assert admits(policies, STRANGER, pod, port) is not (target["container"] == "engine"), target


@pytest.mark.parametrize(("whom", "alert"), named(AT_FIRST, OF_FAULTS, WITHOUT_AN_API_SERVER))
def test_a_real_fault_reaches_alertmanager(troubled: Watched, deadline: float, whom: str, alert: str) -> None:
    told, left_s = troubled.told, max(deadline - time.monotonic(), 0.0)
    told.looks.until(lambda: (whom, alert) in told.names(), f"{alert} of {whom!r} is told", left_s)


def test_an_operator_that_is_away_is_told_and_all_is_over_when_it_and_the_api_server_are_back(
    troubled: Watched,
) -> None:
    away = set(named(WITHOUT_AN_API_SERVER, WITHOUT_AN_OPERATOR))
    troubled.operator.stop()
    told = troubled.told
    told.looks.until(lambda: set(named(WITHOUT_AN_OPERATOR)) <= told.names(), "it is told", _ALERT_S)
    bring_back(troubled.kubectl)
    troubled.operator.start()
    told.looks.until(lambda: not away & told.now(), "nothing of it is told any more", _ALERT_S)


def test_nothing_else_is_told_than_what_is_wrong(troubled: Watched) -> None:
    assert troubled.told.names() - set(named(*ON_A_CLUSTER, FOLLOWS)) == set()


def test_what_is_told_names_the_model_and_the_page_to_open(troubled: Watched) -> None:
    for alert in troubled.told.alerts:
        labels, said = alert["labels"], alert["annotations"]
        assert labels["severity"] in {"page", "ticket"}
        assert (ROOT / said["runbook"]).is_file()
        of_a_pod_or_model = said["summary"].startswith(f"{troubled.kubectl.namespace}/")
        assert of_a_pod_or_model is ("embedding_model" in labels)
        assert "<no value>" not in str(said)
        assert "NaN" not in said["summary"]
