"""`Heads`: everything that a loaded model can be asked for, and what makes it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from tulip_rose.rose.dimensions import Dimensions, read_dimensions
from tulip_rose.rose.facts import Facts, alone_facts, read_facts
from tulip_rose.rose.layers.head import Head
from tulip_rose.rose.layers.kit import Kit
from tulip_rose.rose.models.model import Config, Model
from tulip_rose.rose.options import EngineOptions
from tulip_rose.rose.outputs import Outputs
from tulip_rose.rose.own_file import DENSE, SCORES, SPARSE, TOKENS, check_type
from tulip_rose.rose.rows.load import load_rows
from tulip_rose.rose.scoring.read import check_scores, labels_of_rows, score_head
from tulip_rose.rose.scoring.scorer import Scorer
from tulip_rose.sequence import OutputKind


@dataclass(frozen=True, slots=True)
class Heads:
    """By kind, and the facts that they were made from."""

    by_kind: Mapping[OutputKind, Head]
    """The first is what a caller gets who asks for nothing in particular."""
    facts: Facts
    dimensions: Dimensions
    """Of a dense vector; of the first kind where there is none."""
    token_dimensions: int
    max_terms: int
    """Of a sparse row; 0 where there is none."""
    labels: tuple[str, ...] = ()
    """Of a model that scores; its dense rows are one value a label."""


def score_heads(path: Path, options: EngineOptions, model: Model, scorer: Scorer, kit: Kit) -> Heads:
    """The head of a model that scores.

    Raises:
        LoadError: a file says what is not understood, or the manifest asks for what is of vectors alone.
    """
    check_scores(options)
    check_type(path, SCORES)
    facts = alone_facts(path, options, model.positions, understood=scorer.understood, call=scorer.call, normalize=False)
    facts = replace(facts, poolings=scorer.poolings)
    return _scoring({OutputKind.DENSE: score_head(scorer, kit)}, facts, scorer.labels)


def join_heads(
    path: Path,
    config: dict[str, Any],
    options: EngineOptions,
    model: Model,
    outputs: Outputs,
    kit: Kit,
    device: torch.device,
) -> Heads:
    """The dense head, as the folder's files say, and those that were found beside it or in its place.

    Raises:
        LoadError: a file says what is not understood, or what the model cannot give.
    """
    if outputs.alone:
        check_type(path, *((SPARSE,) if OutputKind.SPARSE in outputs.heads else TOKENS))
        facts = alone_facts(
            path,
            options,
            model.positions,
            understood=outputs.understood,
            call=outputs.call,
            normalize=outputs.normalize,
        )
        if outputs.longest is not None and options.max_input_tokens is None:
            facts = replace(facts, max_input_tokens=min(outputs.longest, model.positions))
        return _joined(outputs, outputs.heads, facts, Dimensions(outputs.token_dimensions or outputs.terms, ()))
    facts = read_facts(path, options, positions=model.positions, hidden=model.hidden_size)
    width = model.hidden_size * len(facts.poolings)
    rows = load_rows(facts.rows, width, device)
    dimensions = read_dimensions(path, config, options, rows[-1].out if rows else width)
    dense = kit.head(facts.poolings, rows)
    check_type(path, SCORES if facts.scores else DENSE)
    if facts.scores:
        check_scores(options)
        return _scoring(
            {OutputKind.DENSE: dense},
            facts,
            labels_of_rows(Config(config, str(path / "config.json")), dimensions.default),
        )
    return _joined(outputs, {OutputKind.DENSE: dense, **outputs.heads}, facts, dimensions)


def _scoring(by_kind: Mapping[OutputKind, Head], facts: Facts, labels: tuple[str, ...]) -> Heads:
    return Heads(by_kind, facts, Dimensions(len(labels), ()), token_dimensions=0, max_terms=0, labels=labels)


def _joined(outputs: Outputs, by_kind: Mapping[OutputKind, Head], facts: Facts, dimensions: Dimensions) -> Heads:
    terms = outputs.terms or facts.max_input_tokens
    has_terms = OutputKind.SPARSE in by_kind
    return Heads(by_kind, facts, dimensions, outputs.token_dimensions, terms if has_terms else 0)
