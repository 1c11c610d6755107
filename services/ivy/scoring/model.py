"""`ScoringModel`: how one model reads pairs and what its values become, decided at start. Knows no request."""

from dataclasses import dataclass
from pathlib import Path

from ivy.errors import ConfigError
from ivy.prompts import Prompts
from ivy.scoring.activation import Activation
from ivy.scoring.facts import PairFacts, pair_facts_of
from ivy.scoring.pair_text import PairText, pair_text_of
from ivy.scoring.readers import PairReader, SpecialTokens, TemplateText
from ivy.scoring.rules import ScoringRules
from ivy.tokenize.pair import PairTemplate
from ivy.tokenize.pool import TokenizerPool


@dataclass(frozen=True, slots=True)
class ScoringModel:
    """One model that scores."""

    reader: PairReader
    activation: Activation


def scoring_model_of(
    folder: Path, rules: ScoringRules | None, prompts: Prompts, pool: TokenizerPool
) -> ScoringModel | None:
    """What a model's folder and the manifest say of scores; None: the model is not made to score.

    Raises:
        ConfigError: a file or a rule is wrong, or the model needs a template that nobody gives.
    """
    facts = pair_facts_of(folder, rules)
    if not facts.scores:
        if rules is not None:
            raise ConfigError(f"--model: spec.embedding.scoring is set, and {folder} has no model that scores")
        return None
    rules = rules or ScoringRules()
    prompt = prompts.texts[prompts.default] if prompts.default is not None else None
    reader = _reader(facts, rules, prompt, pool)
    if reader is None:
        raise ConfigError(
            f"--model: the model in {folder} reads a pair through a template, and there is none with both texts in it: "
            "neither its chat_template.jinja nor its tokenizer_config.json has one, nor spec.embedding.scoring.template"
        )
    return ScoringModel(reader, rules.activation or _activation(facts))


def _reader(facts: PairFacts, rules: ScoringRules, prompt: str | None, pool: TokenizerPool) -> PairReader | None:
    """The way that pairs are read; None where only a template could say it, and there is none."""
    instruction = rules.instruction if rules.instruction is not None else prompt
    if rules.template is not None:
        has_place = "{instruction}" in rules.template
        return TemplateText(pool, pair_text_of(rules.template, instruction if has_place else rules.instruction))
    template = pool.tokenizer.pair_template()
    if needs_text(facts, template):
        text = _chat_text(facts, instruction)
        return TemplateText(pool, text) if text is not None else None
    if rules.instruction is not None:
        raise ConfigError("scoring.instruction has no place: this model reads pairs without a template")
    return SpecialTokens(pool, template, prompt or "", with_types=facts.has_types)


def needs_text(facts: PairFacts, template: PairTemplate) -> bool:
    """Whether a template must say how a pair is read.

    A language model needs it, and so does a ranker that would not see where one text ends and the other begins.
    """
    return facts.is_language_model or (facts.labels == 1 and not template.between)


def _chat_text(facts: PairFacts, instruction: str | None) -> PairText | None:
    if facts.chat_template is None:
        return None
    # Here, because only rerankers with a chat template need what renders it, and every other gateway would carry it.
    from ivy.scoring.chat_template import pair_text_from_chat

    return pair_text_from_chat(facts.chat_template, instruction, facts.chat_settings)


def _activation(facts: PairFacts) -> Activation:
    """The activation where the rules name none.

    One value is a sigmoid's, unless the files name another. Several exclude each other, unless the files say that they
    do not: that there is no activation is what they say of every model with several labels, so it says nothing.
    """
    if facts.labels == 1:
        return facts.activation or Activation.SIGMOID
    is_each = facts.is_multi_label or facts.activation is Activation.SIGMOID
    return Activation.SIGMOID if is_each else Activation.SOFTMAX
