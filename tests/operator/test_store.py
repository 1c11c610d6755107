"""What is kept of children, pods and models, and which changes ask for a visit."""

import json
from typing import Any

from trellis_operator.cluster.memory import Memory
from trellis_operator.cluster.models import Models
from trellis_operator.cluster.store import Store
from trellis_operator.kinds import CONFIG_MAP, DEPLOYMENT, POD, SCALED_OBJECT
from trellis_operator.plan.observed import Observed

Body = dict[str, Any]
KEY = ("search", "m")


def child(name: str, version: int, uid: str = "uid-1", **fields: Any) -> Body:
    return {
        "metadata": {
            "name": name,
            "namespace": "search",
            "resourceVersion": str(version),
            "uid": f"uid-{name}",
            "labels": {"app.kubernetes.io/instance": "m"},
            "ownerReferences": [{"uid": uid}],
            "managedFields": [{"much": "noise"}],
        },
        **fields,
    }


def names(observed: Observed) -> set[str]:
    return {name for _, name in observed.children}


def test_a_child_is_told_to_its_model_once() -> None:
    store = Store()
    assert store.put(CONFIG_MAP, child("c", 1, data={"a": "1"})) == KEY
    assert store.put(CONFIG_MAP, child("c", 2, data={"a": "1"})) is None
    assert store.put(CONFIG_MAP, child("c", 3, data={"a": "2"})) == KEY


def test_what_a_watch_tells_late_does_not_overwrite_what_a_write_told() -> None:
    store = Store()
    store.put(CONFIG_MAP, child("c", 5, data={"a": "new"}))
    assert store.put(CONFIG_MAP, child("c", 4, data={"a": "old"})) is None
    assert store.observed(KEY, "uid-1").children["ConfigMap", "c"]["data"] == {"a": "new"}


def test_a_new_list_forgets_what_is_not_in_it_so_a_missed_deletion_is_found() -> None:
    store = Store()
    store.put(CONFIG_MAP, child("gone", 1))
    store.put(CONFIG_MAP, child("stays", 1))
    store.put(DEPLOYMENT, child("other", 1))
    assert store.replace(CONFIG_MAP, None, [child("stays", 1)]) == {KEY}
    assert names(store.observed(KEY, "uid-1")) == {"stays", "other"}


def test_a_list_of_one_namespace_says_nothing_about_another() -> None:
    store = Store()
    store.put(CONFIG_MAP, child("c", 1))
    assert store.replace(CONFIG_MAP, "elsewhere", []) == set()
    assert names(store.observed(KEY, "uid-1")) == {"c"}


def test_children_of_an_earlier_model_of_that_name_are_not_its_own() -> None:
    store = Store()
    store.put(CONFIG_MAP, child("old", 1, uid="uid-0"))
    assert names(store.observed(KEY, "uid-1")) == set()


def test_little_is_kept_of_a_child() -> None:
    store = Store()
    store.put(CONFIG_MAP, child("c", 1, data={"a": "1"}))
    [kept] = store.observed(KEY, "uid-1").children.values()
    assert "noise" not in json.dumps(kept)


def test_what_keda_says_of_its_object_is_kept_and_its_polls_ask_for_no_visit() -> None:
    store = Store()
    ready = [{"type": "Ready", "status": "True"}]
    assert store.put(SCALED_OBJECT, child("s", 1)) == KEY
    assert store.put(SCALED_OBJECT, child("s", 2, status={"conditions": ready, "lastActiveTime": "10:00"})) == KEY
    assert store.put(SCALED_OBJECT, child("s", 3, status={"conditions": ready, "lastActiveTime": "10:01"})) is None
    [kept] = store.observed(KEY, "uid-1").children.values()
    assert kept["status"]["conditions"] == ready


def test_a_pod_asks_for_a_visit_only_where_something_that_matters_has_changed() -> None:
    store = Store()
    pod = child("p", 1, status={"conditions": [{"type": "Ready", "status": "False"}]})
    assert store.put(POD, pod) == KEY
    assert store.put(POD, pod | {"status": pod["status"] | {"podIP": "10.0.0.1"}}) is None
    pod["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}
    assert store.put(POD, pod) == KEY
    assert store.drop(POD, pod) == KEY
    assert store.drop(POD, pod) is None


def model(version: int, uid: str = "uid-1", **more: Any) -> Body:
    metadata = {"name": "m", "namespace": "search", "uid": uid, "resourceVersion": str(version), "generation": 1}
    return {"metadata": metadata | more, "status": {}}


def test_a_model_asks_for_a_visit_only_where_it_says_something_new() -> None:
    models = Models()
    assert models.put(model(1))
    assert not models.put(model(2))
    assert models.put(model(3, generation=2))
    assert not models.put(model(2)), "told late"
    assert models.put(model(4, generation=2, annotations={"trellis.dev/restart": "now"}))


def test_a_model_that_was_made_anew_replaces_the_old_one_and_is_not_dropped_with_it() -> None:
    models = Models()
    models.put(model(9))
    assert models.put(model(1, uid="uid-2"))
    models.drop(KEY, "uid-1")
    assert models.get(KEY) is not None
    models.drop(KEY, "uid-2")
    assert models.get(KEY) is None


def test_a_body_that_another_crd_let_through_is_read_with_what_is_known(minimal: Body) -> None:
    metadata = {**minimal["metadata"], "namespace": "search", "uid": "uid-1", "generation": 1}
    spec = {**minimal["spec"], "fieldOfTomorrow": 1}
    del spec["gateway"]
    read = Memory().model({"metadata": metadata, "spec": spec})
    assert read.gateway.replicas == 1
    assert "fieldOfTomorrow" not in read.spec
