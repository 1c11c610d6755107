"""What the tests on a cluster share: the cluster, the images on it, and a namespace for each test."""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from e2ekit.client import Client
from e2ekit.cluster import Cluster, find_cluster
from e2ekit.crd import install_crd
from e2ekit.dump import dump
from e2ekit.images import Images, provide_images
from e2ekit.kubectl import Kubectl
from e2ekit.namespaces import make_namespace, remove_namespace
from e2ekit.operator import OperatorProcess
from e2ekit.waiting import until

_TIMEOUT_S = 600


def pytest_collection_finish(session: pytest.Session) -> None:
    """Bring up the cluster and build the images before any test's time runs; say what is missing where that fails."""
    chosen = [item for item in session.items if item.get_closest_marker("cluster")]
    if not chosen or session.config.option.collectonly:
        return
    try:
        cluster = find_cluster()
        if any("images" in getattr(item, "fixturenames", ()) for item in chosen):
            provide_images(cluster)
    except pytest.fail.Exception as error:
        pytest.exit(f"the tests marked `cluster` cannot run: {error.msg}", returncode=1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests of this folder the time that the waits in them add up to, where they do not say it themselves."""
    for item in items:
        if Path(__file__).parent in item.path.parents and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(_TIMEOUT_S))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the state of the test's namespace, and what the operator said, into the report of a failed test."""
    report = yield
    used = getattr(item, "funcargs", {})
    # Tests that share a namespace have both in one fixture.
    shared = next((vars(each) for each in used.values() if hasattr(each, "kubectl") and hasattr(each, "operator")), {})
    kubectl, operator = (used.get(name) or shared.get(name) for name in ("kubectl", "operator"))
    if report.failed and isinstance(kubectl, Kubectl):
        report.sections.append(("the namespace", dump(kubectl)))
    if report.failed and isinstance(operator, OperatorProcess):
        report.sections.append(("the operator", operator.tail()))
    return report


@pytest.fixture(scope="session")
def cluster() -> Cluster:
    """The cluster of `KUBECONFIG`, else one of our own, which stays up for the next run (`make cluster-down`)."""
    return find_cluster()


@pytest.fixture(scope="session")
def images(cluster: Cluster) -> Images:
    """The images of this checkout, on every node."""
    return provide_images(cluster)


@pytest.fixture(scope="session")
def keda(cluster: Cluster) -> None:
    """KEDA runs on the cluster, built where it was not; on one that is not ours somebody has installed it."""
    if cluster.own:
        cluster.tool("keda")
    elif not Kubectl(cluster, "default").find("crd", "scaledobjects.keda.sh"):
        pytest.fail("KEDA is missing on the cluster of KUBECONFIG: https://keda.sh", pytrace=False)


@pytest.fixture(scope="session")
def crd(cluster: Cluster) -> None:
    """The CRD of this checkout is served."""
    install_crd(Kubectl(cluster, "default"))


@pytest.fixture
def kubectl(cluster: Cluster, crd: None) -> Iterator[Kubectl]:
    """kubectl in a new namespace, which takes only pods that pass the `restricted` Pod Security level."""
    kubectl = make_namespace(cluster, "test")
    yield kubectl
    remove_namespace(kubectl)


@pytest.fixture
def operator(cluster: Cluster, images: Images, kubectl: Kubectl, tmp_path: Path) -> Iterator[OperatorProcess]:
    """The operator of this checkout, which looks after the test's namespace alone."""
    process = OperatorProcess(cluster, images, kubectl.namespace, tmp_path / "operator.log")
    process.start()
    yield process
    process.stop()


@pytest.fixture
def forgetful(cluster: Cluster, kubectl: Kubectl) -> bool:
    """Whether the API server has forgotten the first version of all: one that is not ours may know it still."""
    watch = "/api/v1/services?watch=true&resourceVersion=1&timeoutSeconds=1"
    forgotten = '"code":410' in kubectl.run("get", "--raw", watch)
    if not forgotten and cluster.own:
        cluster.tool("stop", "kube-apiserver")
        cluster.tool("start", "kube-apiserver")
        until(cluster.answers, "the API server is back")
    return forgotten or cluster.own


@pytest.fixture
def client(kubectl: Kubectl, images: Images) -> Client:
    """An HTTP client inside the cluster's network."""
    return Client(kubectl, images.gateway)
