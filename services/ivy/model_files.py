"""What the gateway reads from a model's folder besides its tokenizer: prompts, and what else is not the engine's.

Knows no request.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trellis_wire.contents import texts_in

from ivy.embedding import EmbeddingRules, prompts_of, read_json
from ivy.errors import ConfigError
from ivy.late_files import LateFile, read_late
from ivy.prompts import Prompts
from ivy.similarity import Similarity

_CONFIG = "config_sentence_transformers.json"
_CONTEXTUAL = "bidirectional_pplx_qwen3"
"""The `model_type` of models that are made for documents of chunks, where their `auto_map` says so."""
_SEPARATOR = "<|endoftext|>"
"""Between the chunks of such a model, where its tokenizer names no separator of its own."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a model's files say that requests depend on."""

    include_prompt: bool = True
    """Whether a prompt's tokens are pooled; they are always seen."""
    similarity: Similarity = Similarity.COSINE
    """How two vectors are compared."""
    is_contextual: bool = False
    """Whether the model is made to embed the chunks of a document together."""
    separator: str | None = None
    """The token that stands between two chunks."""


def texts_of(folder: Path) -> str:
    """A name for all that a gateway may read in a model's folder, as engines tell theirs.

    Raises:
        ConfigError: a file cannot be read.
    """
    try:
        return texts_in(folder)
    except OSError as error:
        raise ConfigError(f"{error.filename}: {error.strerror}") from error


def facts_for(folder: Path) -> ModelFacts:
    """Read what a model's files say.

    Raises:
        ConfigError: a file is wrong.
    """
    contextual = _is_contextual(folder)
    return ModelFacts(
        include_prompt=_include_prompt(folder),
        similarity=_similarity(folder),
        is_contextual=contextual,
        separator=_separator(folder) if contextual else None,
    )


def prompts_for(folder: Path, rules: EmbeddingRules) -> Prompts:
    """The prompts of a model: those of the rules, else those of its sentence-transformers file.

    Raises:
        ConfigError: a file is wrong, or the default prompt is none of the prompts.
    """
    path = folder / _CONFIG
    own = _object(path)
    texts = rules.prompts
    if texts is None:
        late = read_late(folder) or LateFile()
        texts = late.prefixed(prompts_of(f"{path}: prompts", own.get("prompts")) or {})
    default = rules.default_prompt
    if default is None and rules.prompts is None:
        default = own.get("default_prompt_name")
    if default is not None and default not in texts:
        known = ", ".join(sorted(texts)) or "none"
        raise ConfigError(f"the default prompt {default!r} is none of the model's prompts: {known}")
    return Prompts(texts, default)


def _include_prompt(folder: Path) -> bool:
    modules = read_json(folder / "modules.json") if (folder / "modules.json").is_file() else []
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise ConfigError(f"{folder / 'modules.json'}: not a list of modules")
    paths = [module.get("path", "") for module in modules if str(module.get("type", "")).endswith(".Pooling")]
    return all(_object(folder / str(path) / "config.json").get("include_prompt", True) is not False for path in paths)


def _similarity(folder: Path) -> Similarity:
    name = _object(folder / _CONFIG).get("similarity_fn_name")
    if name is None:
        return Similarity.COSINE
    try:
        return Similarity(name)
    except ValueError:
        known = ", ".join(each.value for each in Similarity)
        raise ConfigError(f"{folder / _CONFIG}: similarity_fn_name {name!r} is not one of {known}") from None


def _is_contextual(folder: Path) -> bool:
    config = _object(folder / "config.json")
    classes = [*_list(config.get("architectures")), *_values(config.get("auto_map"))]
    return config.get("model_type") == _CONTEXTUAL and any("Contextual" in str(name) for name in classes)


def _separator(folder: Path) -> str:
    """The name of the separator token, which files write as a text or as an object."""
    named = _object(folder / "tokenizer_config.json").get("sep_token")
    text = named.get("content") if isinstance(named, dict) else named
    return text if isinstance(text, str) else _SEPARATOR


def _object(path: Path) -> dict[str, Any]:
    """A JSON object, empty where the file is not there."""
    value = read_json(path) if path.is_file() else {}
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: not a JSON object")
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _values(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else []
