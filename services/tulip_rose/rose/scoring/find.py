"""Whether the model in a folder scores, and how, as its files say it. Reads no weights."""

from pathlib import Path

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.folder import read_object
from tulip_rose.rose.modules import Module
from tulip_rose.rose.scoring.classifiers import CLASSIFIERS, Make
from tulip_rose.rose.scoring.reranker import LANGUAGE_MODELS, reads_module, reads_tokens

_WORDS = ("yes", "no")
_VOCABULARY = "tokenizer.json"


def find_scoring(folder: Path, name: str, modules: tuple[Module, ...] | None, *, asked: bool) -> Make | None:
    """What scores; None: nothing does, at least nothing that belongs to the architecture.

    Args:
        folder: the model folder.
        name: the architecture.
        modules: the steps that `modules.json` lists; None without such a file.
        asked: whether the manifest asks for scores, of a folder that does not say what it is for.

    Raises:
        LoadError: a language model of which nothing says that it scores, or where a score is read.
    """
    kinds = None if modules is None else [module.kind for module in modules]
    if kinds in (None, ["Transformer"]) and name in CLASSIFIERS:
        return CLASSIFIERS[name]
    if modules is not None and kinds == ["Transformer", "LogitScore"]:
        return _by_module(folder, name, modules[-1])
    if kinds is None and name in LANGUAGE_MODELS:
        return _by_words(folder, name, asked=asked)
    return None


def _by_module(folder: Path, name: str, module: Module) -> Make:
    if name not in LANGUAGE_MODELS:
        known = ", ".join(LANGUAGE_MODELS)
        raise LoadError(f"{folder / 'config.json'}: LogitScore reads logits of {known}, the architecture is {name!r}")
    return reads_module(module)


def _by_words(folder: Path, name: str, *, asked: bool) -> Make:
    if not asked:
        raise LoadError(
            f"{folder}: {name} reranks where modules.json has a LogitScore or spec.embedding.scoring is set, "
            "and embeds where modules.json has a Pooling; this folder has no modules.json"
        )
    return reads_tokens([_id_of(folder, word) for word in _WORDS], str(folder / _VOCABULARY))


def _id_of(folder: Path, word: str) -> int:
    """The id of a word that is one token."""
    model = read_object(folder, _VOCABULARY, required=True).get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    found = vocabulary.get(word) if isinstance(vocabulary, dict) else None
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise LoadError(f"{folder / _VOCABULARY}: model.vocab has no token {word!r}, which the score is read from")
    return found
