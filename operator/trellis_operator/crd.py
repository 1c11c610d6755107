"""The EmbeddingModel CRD as data: the one truth of what a manifest may say. Never knows a manifest."""

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from trellis_operator.errors import OperatorError

Schema = dict[str, Any]
"""A structural schema, as under `openAPIV3Schema`."""

_IN_WHEEL = "embeddingmodel.yaml"
_IN_CHECKOUT = Path(__file__).parents[2] / "crds" / _IN_WHEEL


@cache
def crd() -> dict[str, Any]:
    """The CustomResourceDefinition: from the installed package, or from the checkout of an editable install.

    Raises:
        OperatorError: neither has it.
    """
    for place in (resources.files("trellis_operator") / _IN_WHEEL, _IN_CHECKOUT):
        if place.is_file():
            read: dict[str, Any] = _safe_load(place.read_text(encoding="utf-8"))
            return read
    raise OperatorError(f"the installation is not whole: {_IN_WHEEL} is missing")


def api_version() -> str:
    """The `apiVersion` of a manifest, e.g. `trellis.dev/v1alpha1`."""
    spec = crd()["spec"]
    return f"{spec['group']}/{spec['versions'][0]['name']}"


def kind() -> str:
    """The `kind` of a manifest."""
    return str(crd()["spec"]["names"]["kind"])


def schema() -> Schema:
    """The structural schema of a whole manifest."""
    found: Schema = crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def _safe_load(text: str) -> Any:
    """By libyaml where there is one: in a tenth of the time, which is a fifth of a second of each start."""
    loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(text, loader)  # noqa: S506  (both are safe)
