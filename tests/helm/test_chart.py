"""The chart, rendered by the real Helm without a cluster.

The golden files are what it renders for each case; `make chart` writes them again.
"""

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2ekit.helm import CHART, ROOT, Helm, HelmError
from trellis_operator.kinds import CHILDREN, EMBEDDING_MODEL, EVENT, LEASE, NODE, POD, SECRET, Kind

HERE = Path(__file__).parent
CASES = sorted(path.stem for path in (HERE / "cases").glob("*.yaml"))
CHILD_VERBS = {"get", "list", "watch", "create", "patch", "delete"}

Rule = tuple[str, str, str]


@pytest.fixture(scope="session")
def helm() -> Helm:
    return Helm()


def render(helm: Helm, *flags: str) -> str:
    return helm.run(
        *("template", "trellis", str(CHART), "--namespace", "trellis-system", "--kube-version", "1.34.0"), *flags
    )


def objects(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What was rendered, by kind and name."""
    documents = [document for document in yaml.safe_load_all(text) if document]
    return {(each["kind"], each["metadata"]["name"]): each for each in documents}


def rights(*roles: dict[str, Any]) -> set[Rule]:
    """Group, resource and verb of all that roles allow."""
    return {
        (group, resource, verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@pytest.mark.parametrize("case", CASES)
def test_the_chart_has_no_lint(helm: Helm, case: str) -> None:
    helm.run("lint", "--strict", "--quiet", str(CHART), "--values", str(HERE / "cases" / f"{case}.yaml"))


@pytest.mark.parametrize("case", CASES)
def test_the_chart_renders_as_it_did(helm: Helm, case: str) -> None:
    rendered = render(helm, "--values", str(HERE / "cases" / f"{case}.yaml"), "--set", "crds.install=false")
    golden = HERE / "golden" / f"{case}.yaml"
    if os.environ.get("TRELLIS_WRITE_GOLDEN"):
        golden.write_text(rendered)
    assert rendered == golden.read_text(), "is the change meant? then: make chart"


def test_the_chart_carries_the_crd_as_it_is() -> None:
    ours = CHART / "files" / "embeddingmodel.yaml"
    assert ours.read_bytes() == (ROOT / "crds" / "embeddingmodel.yaml").read_bytes(), "they differ; run: make chart"


def test_the_rendered_crd_is_the_crd_and_stays_when_the_chart_goes(helm: Helm) -> None:
    wanted = yaml.safe_load((ROOT / "crds" / "embeddingmodel.yaml").read_text())
    key = ("CustomResourceDefinition", "embeddingmodels.trellis.dev")
    kept = objects(render(helm))[key]
    assert kept["metadata"].pop("annotations") == {"helm.sh/resource-policy": "keep"}
    assert kept == wanted
    assert objects(render(helm, "--set", "crds.keep=false"))[key] == wanted
    assert key not in objects(render(helm, "--set", "crds.install=false"))


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        ("replica=2", "replica"),
        ("replicas=0", "replicas"),
        ("images.operator.tag=a b", "tag"),
        ("images.engine.digest=sha256:12", "digest"),
        ("images.engine.repository=", "repository"),
        ("images.pullPolicy=Sometimes", "pullPolicy"),
        ("operator.logLevel=loud", "logLevel"),
        ("operator.fetchEnv.HF_TOKEN=hf_secret", "fetchEnv"),
        ("operator.resyncSeconds=1", "resyncSeconds"),
        ("operator.prometheusAuthentication.name=a", "prometheusUrl"),
        ("watchNamespaces={Search}", "watchNamespaces"),
        ("networkPolicy.apiServerPorts={0}", "apiServerPorts"),
        ("serviceMonitor.interval=often", "interval"),
    ],
)
def test_values_that_cannot_be_meant_are_refused(helm: Helm, value: str, complaint: str) -> None:
    with pytest.raises(HelmError, match=complaint):
        render(helm, "--set", value)


def test_every_value_is_in_the_schema_and_described(helm: Helm) -> None:
    schema = yaml.safe_load((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert set(schema["properties"]) - {"global"} == set(values)
    for name, field in schema["properties"].items():
        assert field["description"], name
        for inner, described in field.get("properties", {}).items():
            assert described["description"], f"{name}.{inner}"
            assert inner in values[name], f"{name}.{inner} has no default"


def needed(kind: Kind, *verbs: str) -> set[Rule]:
    group = kind.api_version.rpartition("/")[0]
    return {(group, kind.plural, verb) for verb in verbs}


def test_the_operator_may_do_what_it_does_and_nothing_else(helm: Helm) -> None:
    made = objects(render(helm))
    expected = set().union(*(needed(kind, *CHILD_VERBS) for kind in CHILDREN))
    expected |= needed(EMBEDDING_MODEL, "get", "list", "watch") | {("trellis.dev", "embeddingmodels/status", "patch")}
    expected |= needed(POD, "list", "watch") | needed(NODE, "list") | needed(SECRET, "get") | needed(EVENT, "create")
    # Given away to gateways; and what kopf looks for its resources with.
    expected |= {("discovery.k8s.io", "endpointslices", verb) for verb in ("get", "list", "watch")}
    expected |= {("apiextensions.k8s.io", "customresourcedefinitions", verb) for verb in ("list", "watch")}
    assert rights(made["ClusterRole", "trellis"]) == expected
    lease = made["Role", "trellis-lease"]
    assert rights(lease) == needed(LEASE, "get", "create", "update")
    assert [rule.get("resourceNames") for rule in lease["rules"] if "update" in rule["verbs"]] == [["trellis-operator"]]


def test_with_namespaces_named_only_nodes_pods_and_names_are_read_elsewhere(helm: Helm) -> None:
    made = objects(render(helm, "--set", "watchNamespaces={search}"))
    assert rights(made["ClusterRole", "trellis"]) == {
        ("", "nodes", "list"),
        ("", "pods", "list"),
        ("", "namespaces", "list"),
        ("", "namespaces", "watch"),
        ("apiextensions.k8s.io", "customresourcedefinitions", "list"),
        ("apiextensions.k8s.io", "customresourcedefinitions", "watch"),
    }
    everywhere = rights(objects(render(helm))["ClusterRole", "trellis"])
    within = rights(made["Role", "trellis"])
    assert within <= everywhere
    assert everywhere - within == {
        ("", "nodes", "list"),
        *(("apiextensions.k8s.io", "customresourcedefinitions", verb) for verb in ("list", "watch")),
    }
    assert made["Role", "trellis"]["metadata"]["namespace"] == "search"


def test_the_readme_gives_a_reason_for_every_right(helm: Helm) -> None:
    told = set()
    for line in (CHART / "README.md").read_text().splitlines():
        row = [cell.strip() for cell in line.strip("|").split("|")]
        if len(row) == 4 and row[2] not in ("verbs", "---"):
            group = "" if row[0].startswith("core") else re.sub(r"[`* ]", "", row[0])
            assert row[3], line
            told |= {(group, resource, verb) for resource in row[1].split(", ") for verb in row[2].split(", ")}
    given = set()
    for flags in ((), ("--set", "watchNamespaces={a}")):
        made = objects(render(helm, *flags))
        given |= rights(*(each for (kind, _), each in made.items() if kind in ("Role", "ClusterRole")))
    assert told == given


def test_no_role_has_a_wildcard_and_no_token_lies_where_none_is_needed(helm: Helm) -> None:
    made = objects(render(helm))
    assert "*" not in {part for right in rights(made["ClusterRole", "trellis"]) for part in right}
    assert made["ServiceAccount", "trellis"]["automountServiceAccountToken"] is False


@pytest.mark.parametrize("file", ["examples/minilm.yaml"])
def test_the_notes_speak_of_an_example_that_exists(file: str) -> None:
    notes = (CHART / "templates" / "NOTES.txt").read_text()
    assert file in notes
    assert yaml.safe_load((ROOT / file).read_text())["metadata"]["name"] in notes
