"""What the Transformer module of sentence-transformers says about inputs, and what the tokenizer's file adds. No torch.

The file has had a name for each family of models; only the name differs. Older ones hold a length, newer ones hold how
the model is called, which has to be how it is called here.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.folder import read_object

_FAMILIES = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
_FILES = tuple(f"sentence_{family}_config.json" for family in _FAMILIES)
_NOTHING: tuple[Any, ...] = (None, {}, [])
_ONLY: dict[str, tuple[Any, ...]] = {
    "processing_kwargs": _NOTHING,
    "query_length": _NOTHING,
    "document_length": _NOTHING,
    "query_expansion": _NOTHING,
    "config_args": _NOTHING,
    "config_kwargs": _NOTHING,
    "tokenizer_name_or_path": _NOTHING,
}
"""Values that change nothing, of keys that otherwise would."""
_TO_LOADERS = {
    "model_args": frozenset({"attn_implementation", "torch_dtype", "dtype", "add_pooling_layer"}),
    "model_kwargs": frozenset({"attn_implementation", "torch_dtype", "dtype", "add_pooling_layer"}),
    "tokenizer_args": frozenset({"model_max_length", "padding_side"}),
    "processor_kwargs": frozenset({"model_max_length", "padding_side"}),
}
_MODALITY = "modality_config"
_FREE = frozenset({"max_seq_length", "do_lower_case", "unpad_inputs", _MODALITY})
TEMPLATE = frozenset({"processing_kwargs"})
"""Settings of the template that texts are put into, where they are: whoever tokenizes goes by them."""

LENGTHS = frozenset({"query_length", "document_length", "query_expansion"})
"""Settings of how long queries and documents are made, of which the same holds."""


@dataclass(frozen=True, slots=True)
class Call:
    """How sentence-transformers calls a model of transformers, and what it takes of the answer."""

    task: str
    takes: str
    gives: str
    """What the modules that follow call it."""

    @property
    def only(self) -> dict[str, tuple[Any, ...]]:
        """As `_ONLY`."""
        return {**_ONLY, "transformer_task": (self.task,), "module_output_name": (self.gives,)}

    @property
    def text(self) -> dict[str, str]:
        """How `modality_config` spells it."""
        return {"method": "forward", "method_output_name": self.takes}


STATES = Call("feature-extraction", "last_hidden_state", "token_embeddings")
LABELS = Call("sequence-classification", "logits", "scores")
TERMS = Call("fill-mask", "logits", "token_embeddings")
NEXT_TOKEN = Call("text-generation", "logits", "causal_logits")


def read_length(folder: Path, positions: int, understood: frozenset[str] = frozenset(), call: Call = STATES) -> int:
    """The longest input in tokens that the model was made for.

    Args:
        folder: of the model.
        positions: that the architecture can take at most.
        understood: settings of the file that somebody else goes by.
        call: how the model is called here, which the file must not contradict.

    Raises:
        LoadError: a length is no whole number above 0, or a setting is not understood.
    """
    name, file = read_transformer(folder)
    check_transformer(file, str(folder / name), understood, call)
    inner: dict[str, Any] = next((file[key] for key in ("tokenizer_args", "processor_kwargs") if file.get(key)), {})
    tokenizer = read_object(folder, "tokenizer_config.json")
    asked = [
        (file.get("max_seq_length"), f"{folder / name}: max_seq_length"),
        (inner.get("model_max_length"), f"{folder / name}: model_max_length"),
        (tokenizer.get("model_max_length"), f"{folder / 'tokenizer_config.json'}: model_max_length"),
    ]
    value, what = next((pair for pair in asked if pair[0] is not None), (positions, "positions"))
    # A tokenizer without a limit says so with a number of thirty digits, at times as a float.
    length = min(value, positions) if isinstance(value, int | float) and not isinstance(value, bool) else 0
    if not length >= 1 or length != int(length):
        raise LoadError(f"{what} {value!r} is not a whole number above 0")
    return int(length)


def read_transformer(folder: Path) -> tuple[str, dict[str, Any]]:
    """The module's file under whichever name it has, and that name; empty where there is none.

    Raises:
        LoadError: it is no JSON object.
    """
    name = next((name for name in _FILES if (folder / name).is_file()), _FILES[0])
    return name, read_object(folder, name)


def check_transformer(
    file: dict[str, Any], where: str, understood: frozenset[str] = frozenset(), call: Call = STATES
) -> None:
    """Check that the model is called as it is here; `understood` settings may have any value.

    Raises:
        LoadError: names the setting that would make something else of it.
    """
    only, free = call.only, _FREE | understood
    for key, value in file.items():
        if key in free or (key in only and value in only[key]):
            continue
        strange = sorted(set(value) - _TO_LOADERS[key]) if key in _TO_LOADERS and isinstance(value, dict) else None
        if strange == []:
            continue
        if key in only:
            raise LoadError(f"{where}: {key} {value!r} is not supported for a model called for its {call.takes}")
        raise LoadError(f"{where}: {key}{'.' + strange[0] if strange else ''} is not understood")
    modalities = file.get("modality_config") or {}
    text = modalities.get("text") if isinstance(modalities, dict) and modalities else call.text
    if text != call.text and _MODALITY not in understood:
        raise LoadError(f"{where}: modality_config.text {text!r} is not supported; known is {call.text}")
