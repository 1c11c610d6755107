"""From a model folder to its `Scorer`, and what there is to know of a model that scores."""

from pathlib import Path

import torch

from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.layers.head import Head
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.models.model import Config
from tulip_rose.rose.modules import read_modules
from tulip_rose.rose.options import EngineOptions
from tulip_rose.rose.scoring.find import find_scoring
from tulip_rose.rose.scoring.head_taker import HeadTaker
from tulip_rose.rose.scoring.labels import labels_of, plain_labels
from tulip_rose.rose.scoring.last_kept import LastKeptHead
from tulip_rose.rose.scoring.scorer import Scorer
from tulip_rose.rose.weights import Weights


def read_scorer(
    folder: Path, architecture: str, config: Config, options: EngineOptions, weights: Weights, device: torch.device
) -> Scorer | None:
    """Find the head that scores, and take its tensors before the base model takes its own; None: there is none.

    Raises:
        LoadError: the files contradict each other, or a tensor is not as it should be.
    """
    make = find_scoring(folder, architecture, read_modules(folder), asked=options.scores)
    return None if make is None else make(config, HeadTaker(weights, device))


def score_head(scorer: Scorer, kit: Kit) -> Head:
    """What makes the scores of states."""
    if scorer.padding is None:
        return kit.head(scorer.poolings, scorer.rows)
    return LastKeptHead(scorer.padding, scorer.rows)


def labels_of_rows(config: Config, count: int) -> tuple[str, ...]:
    """The labels of rows of that many scores, whose config may be that of a base model, which has labels that are none.

    Raises:
        LoadError: the config's labels do not count up.
    """
    named = labels_of(config) if "id2label" in config.values else ()
    return named if len(named) == count else plain_labels(count)


def check_scores(options: EngineOptions) -> None:
    """Check that nothing is asked of a model that scores which is for vectors alone.

    Raises:
        LoadError: names the field of the manifest.
    """
    asked = {
        "pooling": options.pooling,
        "normalize": options.normalize,
        "dimensions.allowed": options.allowed_dimensions,
    }
    for key, value in asked.items():
        if value:
            raise LoadError(f"spec.embedding.{key} is for models that embed, this one scores")
