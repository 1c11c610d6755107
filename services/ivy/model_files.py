"""What the gateway reads from a model's folder: its tokenizer and its prompts. Knows no request."""

from pathlib import Path

from ivy.embedding import EmbeddingRules, prompts_of, read_json
from ivy.errors import ConfigError
from ivy.prompts import Prompts

_CONFIG = "config_sentence_transformers.json"


def prompts_for(folder: Path, rules: EmbeddingRules) -> Prompts:
    """The prompts of a model: those of the rules, else those of its sentence-transformers file.

    Raises:
        ConfigError: a file is wrong, or the default prompt is none of the prompts.
    """
    path = folder / _CONFIG
    own = read_json(path) if path.is_file() else {}
    if not isinstance(own, dict):
        raise ConfigError(f"{path}: not a JSON object")
    texts = rules.prompts
    if texts is None:
        texts = prompts_of(f"{path}: prompts", own.get("prompts")) or {}
    default = rules.default_prompt
    if default is None and rules.prompts is None:
        default = own.get("default_prompt_name")
    if default is not None and default not in texts:
        known = ", ".join(sorted(texts)) or "none"
        raise ConfigError(f"the default prompt {default!r} is none of the model's prompts: {known}")
    return Prompts(texts, default)
