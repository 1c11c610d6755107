"""Which architectures are known."""

from typing import Any

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.models.bert import Bert
from tulip_rose.rose.models.model import ModelType
from tulip_rose.rose.models.qwen3 import Qwen3

_KNOWN: dict[str, ModelType] = {
    "BertModel": Bert,
    "PPLXQwen3ContextualModel": Qwen3,
    "PPLXQwen3Model": Qwen3,
    "Qwen3Model": Qwen3,
}


def find_model(config: dict[str, Any], where: str) -> tuple[str, ModelType]:
    """The architecture that `config.json` names, and how it is loaded.

    Raises:
        LoadError: none is named, or it is not known; lists those that are.
    """
    names = config.get("architectures")
    name = names[0] if isinstance(names, list) and names else None
    if name not in _KNOWN:
        raise LoadError(f"{where}: architecture {name!r} is not known; known are {', '.join(sorted(_KNOWN))}")
    return name, _KNOWN[name]
