"""The manifest against the CRD: what is refused, how it is said, and what is filled in."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from trellis_operator import crd
from trellis_operator.errors import ManifestError
from trellis_operator.manifest import read_manifest
from trellis_operator.validate import validate

Body = dict[str, Any]


def refusal(body: Any) -> str:
    with pytest.raises(ManifestError) as caught:
        validate(body)
    return str(caught.value)


def put(body: Body, path: str, value: Any) -> Body:
    """Set a field by its dotted path; `KeyError` keeps a test from testing nothing."""
    *parents, last = path.split(".")
    where = body
    for parent in parents:
        where = where[parent]
    where[last] = value
    return body


@pytest.mark.parametrize(
    "name", ["minilm.yaml", "full.yaml", "reranker.yaml", "late-chunking.yaml", "qwen3-embedding.yaml", "bge-m3.yaml"]
)
def test_every_example_is_valid(examples: Path, name: str) -> None:
    assert validate(read_manifest(examples / name))["kind"] == "EmbeddingModel"


def test_the_examples_have_every_field_of_the_schema_but_the_other_sources(full: Body, examples: Path) -> None:
    spec = crd.schema()["properties"]["spec"]
    absent = {path for path in _paths(spec) if not _given(full["spec"], path)}
    sources = {path for path in absent if path[:2] == ("model", "source")}
    scoring = {path for path in absent if path[:2] == ("embedding", "scoring")}
    ranker = read_manifest(examples / "reranker.yaml")["spec"]
    assert all(_given(ranker, path) for path in scoring)
    assert absent - sources - scoring == {
        ("scheduling", "tolerations", "value"),
        ("scheduling", "tolerations", "tolerationSeconds"),
        ("gateway", "resources", "limits"),
    }


def test_absent_fields_get_their_defaults_also_where_their_section_is_absent(minimal: Body) -> None:
    del minimal["spec"]["engine"], minimal["spec"]["gateway"]
    spec = validate(minimal)["spec"]
    assert spec["engine"]["replicas"] == 1
    assert spec["engine"]["drain"] == {"delaySeconds": 10, "timeoutSeconds": 60}
    assert spec["gateway"]["loadBalancing"]["retryBudgetPercent"] == 10
    assert spec["suspend"] is False


def test_what_was_not_said_about_the_embedding_stays_unsaid(minimal: Body) -> None:
    assert validate(minimal)["spec"]["embedding"] == {"truncation": "end"}


def test_validating_fills_in_a_copy_and_a_second_time_changes_nothing(minimal: Body) -> None:
    before = str(minimal)
    once = validate(minimal)
    assert str(minimal) == before
    assert validate(once) == once


def test_an_unknown_field_is_refused_with_the_nearest_known_one(minimal: Body) -> None:
    minimal["spec"]["engine"]["replica"] = 2
    assert refusal(minimal) == "spec.engine.replica: unknown field, did you mean replicas?"


def test_an_unknown_field_unlike_any_other_is_refused_with_all_known_ones(minimal: Body) -> None:
    minimal["spec"]["embedding"]["zzz"] = 2
    assert "spec.embedding.zzz: unknown field; known here: pooling, normalize" in refusal(minimal)


def test_unknown_fields_inside_lists_are_found(full: Body) -> None:
    full["spec"]["scheduling"]["tolerations"][0]["keys"] = "x"
    assert refusal(full) == "spec.scheduling.tolerations[0].keys: unknown field, did you mean key?"


def test_labels_and_what_pods_define_are_not_unknown(full: Body) -> None:
    full["metadata"]["annotations"] = {"a/b": "c"}
    full["spec"]["scheduling"]["affinity"]["podAntiAffinity"] = {"anything": [1]}
    validate(full)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("spec.model.source", {}, "spec.model.source: exactly one of"),
        ("spec.model.source.pvc", {"claimName": "x"}, "spec.model.source: exactly one of"),
        ("spec.model.source.huggingFace", {"repo": "a/b"}, "revision is required"),
        ("spec.engine.autoscaling.prometheusUrl", "prometheus:9090", "spec.engine.autoscaling.prometheusUrl"),
        ("spec.engine.autoscaling.minReplicas", 9, "minReplicas must be at most maxReplicas"),
        ("spec.embedding.defaultPrompt", "passage", "defaultPrompt must be the name of one of prompts"),
        ("spec.embedding.scoring", {"template": "{query}"}, "template must have {query} and {document} in it"),
        ("spec.embedding.maxInputTokens", 20000, "must be at most engine.batching.maxBatchTokens"),
        ("spec.engine.cudaGraphs.prewarm", [{"tokens": 65, "sequences": 2}], "a multiple of tokenBucketMultiple"),
        ("spec.engine.cudaGraphs.prewarm", [{"tokens": 64, "sequences": 3}], "one of sequenceSlots"),
        ("spec.engine.cudaGraphs.prewarm", [{"tokens": 64, "sequences": 128}], "at least one token"),
        ("spec.engine.cudaGraphs", {"sequenceSlots": [1]}, "sequenceSlots must have one of 2 or more"),
        ("spec.engine.cudaGraphs.mode", "off", "prewarm needs mode lazy"),
        ("spec.model.source", {"package": {"name": "a", "version": "1", "path": "a/../../b"}}, "stay inside"),
        ("spec.model.source", {"package": {"name": "a", "version": "1", "path": "/etc"}}, "stay inside"),
        ("metadata.name", "a" * 41, "at most 40 characters"),
    ],
)
def test_each_broken_rule_is_told_by_its_own_message(full: Body, path: str, value: Any, said: str) -> None:
    assert said in refusal(put(full, path, value))


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("spec.model.dtype", "float16", "spec.model.dtype: 'float16' is not one of"),
        ("spec.engine.replicas", "2", "spec.engine.replicas: '2' is not of type 'integer'"),
        ("spec.engine.replicas", -1, "spec.engine.replicas: -1 is less than the minimum"),
        ("spec.engine.replicas", True, "spec.engine.replicas: True is not of type 'integer'"),
        ("spec.model.servedNames", [], "spec.model.servedNames"),
        ("spec.model.servedNames", ["a\n"], "spec.model.servedNames[0]"),
        ("spec.cache.persistentVolumeClaim.size", "20Gb", "spec.cache.persistentVolumeClaim.size"),
        ("spec.model.source.huggingFace.revision", 1.5, "is not of type 'string' (write it in quotes)"),
        ("metadata.name", "Upper", "metadata.name"),
        ("apiVersion", "trellis.dev/v1", "apiVersion: must be trellis.dev/v1alpha1"),
        ("kind", "Model", "kind: must be EmbeddingModel"),
    ],
)
def test_each_wrong_value_is_told_with_its_path(full: Body, path: str, value: Any, said: str) -> None:
    assert said in refusal(put(full, path, value))


@pytest.mark.parametrize(("path", "field"), [("spec", "model"), ("spec.model", "source"), ("metadata", "name")])
def test_a_missing_field_is_told_with_its_path(full: Body, path: str, field: str) -> None:
    section = full
    for part in path.split("."):
        section = section[part]
    del section[field]
    assert refusal(full) == f"{path}.{field}: required"


@pytest.mark.parametrize("body", [None, [], "text", 3])
def test_a_document_that_is_no_mapping_is_refused(body: Any) -> None:
    assert "not a mapping" in refusal(body)


def test_a_floating_revision_can_be_allowed_by_name(full: Body) -> None:
    put(full, "spec.model.source", {"huggingFace": {"repo": "a/b", "allowFloatingRevision": True}})
    validate(full)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\n---\nb: 2\n", "holds 2 documents"),
        ("", "holds 0 documents"),
        ("a: [", "is not YAML"),
        ("a: 1\na: 2\n", "a is given twice"),
        ("a: " + "x" * 2**20, "is longer than"),
        ("a: &a {b: *a}", "is nested more than 50 deep"),
        (
            "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
            + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)),
            "unfolds to more than",
        ),
    ],
)
def test_a_file_that_is_no_single_document_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "manifest.yaml"
    path.write_text(text)
    with pytest.raises(ManifestError, match=said):
        read_manifest(path)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="cannot be read: No such file"):
        read_manifest(tmp_path / "absent.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(ManifestError, match="is not UTF-8"):
        read_manifest(tmp_path / "binary.yaml")


def test_every_list_map_and_string_of_the_schema_is_bounded() -> None:
    """Without bounds an API server refuses CEL rules for their cost."""
    spec = crd.schema()["properties"]["spec"]
    unbounded = [path for path, schema in _schemas(spec) if not _is_bounded(schema)]
    assert unbounded == []


def test_every_field_of_the_schema_is_described() -> None:
    for section in ("spec", "status"):
        undescribed = [
            path
            for path, schema in _schemas(crd.schema()["properties"][section])
            if path and path[-1] != "*" and not schema.get("description")
        ]
        assert undescribed == []


def _is_bounded(schema: Body) -> bool:
    if schema.get("type") == "array":
        return "maxItems" in schema
    if "additionalProperties" in schema:
        return "maxProperties" in schema
    if schema.get("type") == "string" or schema.get("x-kubernetes-int-or-string"):
        return "maxLength" in schema or "enum" in schema
    if schema.get("type") == "integer":
        return "maximum" in schema
    return True


def _schemas(schema: Body, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Body]]:
    """Each schema below one, with its path; `*` stands for items and values."""
    yield path, schema
    for name, inner in schema.get("properties", {}).items():
        yield from _schemas(inner, (*path, name))
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from _schemas(schema[key], (*path, "*"))


def _paths(schema: Body) -> Iterator[tuple[str, ...]]:
    """The path of each named field, items skipped over."""
    for path, _ in _schemas(schema):
        if path and path[-1] != "*":
            yield tuple(part for part in path if part != "*")


def _given(value: Any, path: tuple[str, ...]) -> bool:
    for part in path:
        value = value[0] if isinstance(value, list) else value
        if part not in value:
            return False
        value = value[part]
    return True
