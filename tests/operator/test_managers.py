"""Who manages a field, by managedFields as an API server writes them."""

import pytest
from trellis_operator.plan.managers import managers

FIELDS = {
    "a": {"f:spec": {"f:maxUnavailable": {}}},
    "b": {"f:spec": {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:appProtocol": {}, "f:name": {}}}}},
    "c": {"f:metadata": {"f:annotations": {".": {}, "f:example.com/a.b": {}}}},
    "d": {"f:spec": {"f:tolerations": {}}},
    "e": {"f:metadata": {"f:finalizers": {'v:"x.y/z"': {}}}},
    "f": {"f:spec": {"f:template": {"f:spec": {"f:containers": {'k:{"name":"engine"}': {"f:image": {}}}}}}},
}
SEEN = {"metadata": {"managedFields": [{"manager": name, "fieldsV1": fields} for name, fields in FIELDS.items()]}}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("spec.maxUnavailable", ["a"]),
        ("spec.maxUnavailable.more", ["a"]),
        ("spec.max", []),
        ("spec.ports.80.appProtocol", ["b"]),
        ("spec.ports.80.targetPort", []),
        ("spec.ports", ["b"]),
        ("metadata.annotations.example.com/a.b", ["c"]),
        ("metadata.annotations.example.com/a", []),
        ("metadata.labels.team", []),
        ("spec.tolerations.0.key", ["d"]),
        ("metadata.finalizers.x.y/z", ["e"]),
        ("spec.template.spec.containers.engine.image", ["f"]),
        ("spec.template.spec.containers.gateway.image", []),
        ("spec", ["a", "b", "d", "f"]),
    ],
)
def test_a_field_is_managed_by_whoever_has_it_a_part_of_it_or_the_whole_that_it_is_in(
    path: str, found: list[str]
) -> None:
    assert managers(SEEN, path) == found


@pytest.mark.parametrize("metadata", [{}, {"managedFields": None}, {"managedFields": [{"manager": "a"}]}])
def test_nobody_manages_what_nothing_is_said_of(metadata: dict[str, object]) -> None:
    assert managers({"metadata": metadata}, "spec") == []
