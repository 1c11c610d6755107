"""The files that say how a model makes weights of terms: sentence-transformers' modules, and bge-m3's layer."""

from pathlib import Path

import torch

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.folder import read_object
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.modules import Module
from tulip_rose.rose.sparse.lexical import LexicalHead
from tulip_rose.rose.sparse.linear_file import LinearFile
from tulip_rose.rose.sparse.splade import Splade, SpladeHead
from tulip_rose.rose.sparse.vocabulary import VocabularyHead
from tulip_rose.rose.transformer_file import STATES, TERMS, read_transformer
from tulip_rose.rose.weights import Weights

POOLING = "SpladePooling"
TRANSFORMERS = ("MLMTransformer", "Transformer")
_SETTINGS = frozenset(
    {"pooling_strategy", "activation_function", "embedding_dimension", "word_embedding_dimension", "chunk_size"}
)
_LEXICAL = "sparse_linear"
_NO_WORDS = ("cls_token", "eos_token", "pad_token", "unk_token")


def splade_head(
    modules: tuple[Module, ...],
    architecture: str,
    config: Config,
    weights: Weights,
    kit: Kit,
    device: torch.device,
) -> SpladeHead:
    """The head of a SparseEncoder, which is a masked language model and SpladePooling.

    Raises:
        LoadError: other modules, settings that are not known, or a tensor that is not as it should be.
    """
    kinds = [module.kind for module in modules]
    if len(kinds) != 2 or kinds[0] not in TRANSFORMERS or kinds[1] != POOLING:
        found = ", ".join(kinds)
        raise LoadError(f"{modules[0].folder / 'modules.json'}: Transformer, {POOLING} were expected, found {found}")
    name, transformer = read_transformer(modules[0].folder)
    default = TERMS.task if kinds[0] == "MLMTransformer" else STATES.task
    if transformer.get("transformer_task", default) != TERMS.task:
        raise LoadError(f"{modules[0].folder / name}: transformer_task has to be {TERMS.task} before {POOLING}")
    head = VocabularyHead.load(architecture, config, weights, kit, device)
    return SpladeHead(head, _splade(modules[1], head.terms))


def _splade(module: Module, terms: int) -> Splade:
    settings = module.settings(_SETTINGS)
    pooling = settings.get("pooling_strategy", "max")
    if pooling not in ("max", "sum"):
        raise LoadError(f"{module.where}: pooling_strategy {pooling!r} is not known; known are max, sum")
    activation = settings.get("activation_function", "relu")
    if activation not in ("relu", "log1p_relu"):
        raise LoadError(f"{module.where}: activation_function {activation!r} is not known; known are relu, log1p_relu")
    for key in ("embedding_dimension", "word_embedding_dimension"):
        if settings.get(key) not in (None, terms):
            raise LoadError(f"{module.where}: {key} is {settings[key]!r}, the model has {terms} terms")
    return Splade(sums=pooling == "sum", twice=activation == "log1p_relu")


def lexical_head(folder: Path, config: Config, device: torch.device) -> LexicalHead | None:
    """The head of bge-m3 that weighs tokens; None where its file is not there.

    Raises:
        LoadError: its tensors are not as they should be.
    """
    layer = LinearFile.find(folder, _LEXICAL)
    if layer is None:
        return None
    weight, bias = layer.take(1, config.integer("hidden_size"))
    unused = torch.tensor(_no_words(folder), dtype=torch.int64, device=device)
    return LexicalHead(weight.to(device), bias.to(device), config.integer("vocab_size"), unused)


def _no_words(folder: Path) -> list[int]:
    """Ids of the tokens that begin and end a text, of padding, and of what the tokenizer does not know.

    Raises:
        LoadError: the tokenizer's files name such a token and no id of it.
    """
    named = {**read_object(folder, "tokenizer_config.json"), **read_object(folder, "special_tokens_map.json")}
    tokens = [_content(named[key]) for key in _NO_WORDS if named.get(key) is not None]
    added = read_object(folder, "tokenizer.json", required=True).get("added_tokens", [])
    ids = {token["content"]: token["id"] for token in added}
    missing = [token for token in tokens if token not in ids]
    if missing or not tokens:
        what = f"token {missing[0]} has no id in added_tokens" if missing else "no special token is named beside it"
        raise LoadError(f"{folder / 'tokenizer.json'}: {what}, so the words of a sparse vector cannot be told")
    return [ids[token] for token in tokens]


def _content(token: object) -> object:
    return token.get("content") if isinstance(token, dict) else token
