"""Objects found among those that a model becomes."""

from typing import Any

Body = dict[str, Any]


def refs(objects: list[Body]) -> list[tuple[str, str]]:
    return [(each["kind"], each["metadata"]["name"]) for each in objects]


def one(objects: list[Body], kind: str, ending: str = "") -> Body:
    [found] = [each for each in objects if each["kind"] == kind and each["metadata"]["name"].endswith(ending)]
    return found


def pod(objects: list[Body], component: str) -> Body:
    spec: Body = one(objects, "Deployment", component)["spec"]["template"]["spec"]
    return spec
