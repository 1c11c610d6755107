"""`PairFacts`: what a model's files say of pairs of texts. Reads JSON; knows no tokenizer and no request."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ivy.embedding import read_json
from ivy.errors import ConfigError
from ivy.scoring.activation import Activation
from ivy.scoring.rules import ScoringRules

_CONFIG = "config.json"
_CROSS_ENCODER = "config_sentence_transformers.json"
_TRANSFORMER = "sentence_bert_config.json"
_CLASSIFIER, _LANGUAGE_MODEL = "ForSequenceClassification", "ForCausalLM"
_ACTIVATIONS = {"Sigmoid": Activation.SIGMOID, "Identity": Activation.NONE, "Softmax": Activation.SOFTMAX}
"""By the last part of a class's path: of all that a file may name, these are known."""
_NOT_RENDERED = frozenset({"max_length", "padding", "restore_suffix", "return_tensors", "truncation"})
"""Settings of a chat template that its text does not depend on."""
_SPECIAL = ("bos_token", "cls_token", "eos_token", "mask_token", "pad_token", "sep_token", "unk_token")
_WITHOUT_WORD = 2
"""Labels of a config that says nothing of them."""


@dataclass(frozen=True, slots=True)
class PairFacts:
    """One model's."""

    scores: bool
    """Whether it is made to score."""
    is_language_model: bool
    """Whether the score is read off what it would say next."""
    labels: int
    activation: Activation | None
    """As the rules say, else the files; None: neither names one."""
    is_multi_label: bool
    """Whether several labels may hold at once."""
    has_types: bool
    """Whether it tells the sides of a pair apart by the types of their tokens."""
    chat_template: str | None
    chat_settings: dict[str, Any]
    """What the chat template is rendered with, besides messages."""


def pair_facts_of(folder: Path, rules: ScoringRules | None) -> PairFacts:
    """Read what a model's files say.

    Args:
        folder: the model folder.
        rules: what the manifest asks for; None: not a word, not even that the model should score.

    Raises:
        ConfigError: a file is wrong, or names an activation that is not known where the rules name none.
    """
    config = _object(folder / _CONFIG)
    architectures = config.get("architectures")
    name = str(architectures[0]) if isinstance(architectures, list) and architectures else ""
    modules = _modules(folder)
    kinds = None if modules is None else [kind for kind, _ in modules]
    is_language_model = name.endswith(_LANGUAGE_MODEL)
    layer = _layer_that_scores(modules or [])
    return PairFacts(
        scores=bool(layer) or _scores(name, kinds, asked=rules is not None),
        is_language_model=is_language_model,
        labels=1 if is_language_model else _labels(layer or config),
        activation=(rules.activation if rules is not None else None) or _activation(folder, config),
        is_multi_label=config.get("problem_type") == "multi_label_classification",
        has_types=_types(config) > 1,
        chat_template=_chat_template(folder),
        chat_settings=_chat_settings(folder),
    )


def _scores(name: str, kinds: list[str] | None, *, asked: bool) -> bool:
    if kinds is not None and "LogitScore" in kinds:
        return True
    if name.endswith(_CLASSIFIER):
        return kinds in (None, ["Transformer"])
    return name.endswith(_LANGUAGE_MODEL) and kinds is None and asked


def _modules(folder: Path) -> list[tuple[str, Path]] | None:
    """The steps of the model: the kind of each, and where its settings lie."""
    path = folder / "modules.json"
    if not path.is_file():
        return None
    modules = read_json(path)
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise ConfigError(f"{path}: not a list of modules")
    return [
        (str(module.get("type", "")).rpartition(".")[2], folder / str(module.get("path", ""))) for module in modules
    ]


def _layer_that_scores(modules: list[tuple[str, Path]]) -> dict[str, Any]:
    """The settings of a last layer whose values are scores; empty where there is none."""
    if not modules or modules[-1][0] != "Dense":
        return {}
    settings = _object(modules[-1][1] / _CONFIG)
    return settings if settings.get("module_output_name") == "scores" else {}


def _labels(config: dict[str, Any]) -> int:
    """Of a model's config, or of the settings of its last layer."""
    named = config.get("id2label")
    count = len(named) if isinstance(named, dict) else config.get("num_labels", config.get("out_features"))
    return count if isinstance(count, int) else _WITHOUT_WORD


def _types(config: dict[str, Any]) -> int:
    """How many types of tokens the model has; models of BERT's kind have two where the file leaves it out."""
    types = config.get("type_vocab_size", 2 if config.get("model_type") == "bert" else 0)
    return types if isinstance(types, int) else 0


def _activation(folder: Path, config: dict[str, Any]) -> Activation | None:
    """As the newest place that names one says, which is how sentence-transformers looks for it."""
    block = config.get("sentence_transformers")
    places = (
        (folder / _CROSS_ENCODER, _object(folder / _CROSS_ENCODER).get("activation_fn")),
        (folder / _CONFIG, block.get("activation_fn") if isinstance(block, dict) else None),
        (folder / _CONFIG, config.get("sbert_ce_default_activation_function")),
    )
    path, named = next(((path, named) for path, named in places if named is not None), (folder, None))
    if named is None:
        return None
    known = _ACTIVATIONS.get(str(named).rpartition(".")[2])
    if known is None or not str(named).startswith("torch."):
        raise ConfigError(
            f"{path}: the activation {named!r} is not known; spec.embedding.scoring.activation can say another"
        )
    return known


def _chat_template(folder: Path) -> str | None:
    path = folder / "chat_template.jinja"
    if path.is_file():
        try:
            return path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: cannot be read: {error}") from None
    template = _object(folder / "tokenizer_config.json").get("chat_template")
    if isinstance(template, list):
        named = {each.get("name"): each.get("template") for each in template if isinstance(each, dict)}
        template = named.get("default")
    return template if isinstance(template, str) else None


def _chat_settings(folder: Path) -> dict[str, Any]:
    """The names of special tokens, and what the newest layout sets."""
    tokenizer = _object(folder / "tokenizer_config.json")
    named = {key: _name_of(tokenizer[key]) for key in _SPECIAL if tokenizer.get(key) is not None}
    settings = _object(folder / _TRANSFORMER).get("processing_kwargs", {})
    own = settings.get("chat_template", {}) if isinstance(settings, dict) else {}
    own = own if isinstance(own, dict) else {}
    return named | {key: value for key, value in own.items() if key not in _NOT_RENDERED}


def _name_of(token: Any) -> str:
    """The name of a token, which files write as a text or as an object."""
    return str(token.get("content", "") if isinstance(token, dict) else token)


def _object(path: Path) -> dict[str, Any]:
    """A JSON object, empty where the file is not there."""
    value = read_json(path) if path.is_file() else {}
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: not a JSON object")
    return value
