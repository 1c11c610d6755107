"""Templates: texts that a model reads of pairs, from the manifest or from the model's own chat template."""

import json

import pytest
import tokenizers
from ivy.embedding import rules_of
from ivy.errors import ConfigError, ContextTooLong
from ivy.scoring.chat_template import pair_text_from_chat
from ivy.scoring.model import scoring_model_of
from ivy.scoring.pair_text import pair_text_of
from ivy.scoring.readers import SpecialTokens, TemplateText
from ivy.scoring.request import Cut
from ivy.scoring.rules import ScoringRules
from ivy.tokenize import cuts
from ivy.tokenize.pool import TokenizerPool
from ivy.tokenize.tokenizer import Tokenizer
from ivy.tokenize.truncation import Truncation
from tokenizers import pre_tokenizers
from transformers.utils.chat_template_utils import render_jinja_template

TEMPLATE = (
    "<|im_start|>system\nJudge.<|im_end|>\n<|im_start|>user\n<Instruct>: {instruction}\n<Query>: {query}\n"
    "<Document>: {document}<|im_end|>\n<|im_start|>assistant\n"
)
CHAT = (
    "{%- set ns = namespace(told='Find what answers.') -%}"
    "{%- for message in messages if message.role == 'system' %}{% set ns.told = message.content %}{% endfor -%}"
    "<|im_start|>user\n<Instruct>: {{ ns.told }}\n"
    "{%- for message in messages if message.role != 'system' %}\n<{{ message.role }}>: {{ message.content }}"
    "{%- endfor %}<|im_end|>{{ eos_token }}\n"
)
PLAIN_CHAT = "{% for message in messages if message.role == 'user' %}{{ message.content }}{% endfor %}"


@pytest.fixture
def pool(byte_level):
    made = TokenizerPool(Tokenizer(tokenizers.Tokenizer.from_str(byte_level.to_str())), 1)
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path, byte_level):
    """Makes folders of models with a tokenizer that puts nothing between texts."""

    def make(chat: str | None = None, modules: list[str] | None = None, **config):
        byte_level.save(str(tmp_path / "tokenizer.json"))
        fields = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", **config}
        (tmp_path / "config.json").write_text(json.dumps(fields))
        if chat is not None:
            (tmp_path / "chat_template.jinja").write_text(chat)
        if modules is not None:
            steps = [{"type": f"sentence_transformers.{name}", "path": ""} for name in modules]
            (tmp_path / "modules.json").write_text(json.dumps(steps))
        return tmp_path

    return make


def test_the_texts_of_a_pair_are_put_into_a_template_as_they_are():
    text = pair_text_of(TEMPLATE, "Find {query}")
    whole = text.whole("{document} or {query}", "{instruction} {0}")
    assert "<Instruct>: Find {query}\n<Query>: {document} or {query}\n<Document>: {instruction} {0}<|im_end|>" in whole
    assert whole.startswith("<|im_start|>system\nJudge.")


@pytest.mark.parametrize(
    ("template", "instruction", "said"),
    [
        ("{query}", None, "document"),
        ("{document}", None, "query"),
        ("{document} {query}", None, "last"),
        ("{query} {query} {document}", None, "once"),
        ("{query} {document} {instruction}", "x", "last"),
        ("{instruction} {query} {document}", None, "no scoring.instruction"),
        ("{query} {document}", "x", "no place"),
    ],
)
def test_a_template_that_does_not_say_where_the_texts_go_is_refused(template, instruction, said):
    with pytest.raises(ConfigError, match=said):
        pair_text_of(template, instruction)


@pytest.mark.parametrize("instruction", [None, "Find it."])
def test_a_chat_template_with_both_roles_is_rendered_as_transformers_does(instruction):
    texts = {"system": instruction, "query": "why\n", "document": " because"}
    messages = [{"role": role, "content": text} for role, text in texts.items() if text is not None]
    [[wanted], _] = render_jinja_template(conversations=[messages], chat_template=CHAT, eos_token="</s>")
    text = pair_text_from_chat(CHAT, instruction, {"eos_token": "</s>"})
    assert text.whole("why\n", " because") == wanted
    assert (instruction or "Find what answers.") in wanted
    assert wanted.count("</s>") == 1


def test_a_chat_template_of_structured_messages_is_rendered_too():
    chat = "{% for message in messages %}[{{ message.role }}]{{ message.content[0].text }}{% endfor %}."
    assert pair_text_from_chat(chat, None, {}).whole("Q", "D") == "[query]Q[document]D."


@pytest.mark.parametrize(
    "chat",
    [PLAIN_CHAT, "always the same", "{{ raise_exception('only user and assistant') }}", "{{ messages[0].content }}"],
)
def test_a_chat_template_that_does_not_show_both_texts_says_nothing_of_pairs(chat):
    assert pair_text_from_chat(chat, None, {}) is None


@pytest.mark.parametrize("chat", ["{{ messages", "{{ ''.__class__.__mro__ }}", "{{ messages.nothing.more }}"])
def test_a_chat_template_that_cannot_be_rendered_stops_the_start(chat):
    with pytest.raises(ConfigError, match="chat template"):
        pair_text_from_chat(chat, None, {})


async def test_a_pair_is_read_as_one_text_and_ends_as_the_template_does_when_it_is_cut(pool, names):
    text = pair_text_of(TEMPLATE, "Find it.")
    reader, encode = TemplateText(pool, text), pool.tokenizer.body
    whole = encode(text.whole("why", "because " * 50))
    limit = 200
    pairs = [("why", "because"), ("why", "because " * 50)]
    short, long = await reader.read(pairs, Cut(limit, Truncation.END), names)
    ending = list(encode("<|im_end|>\n<|im_start|>assistant\n"))
    assert list(short.ids) == list(encode(text.whole("why", "because")))
    assert list(long.ids) == [*whole[: limit - len(ending)], *ending]
    [from_start] = await reader.read(pairs[1:], Cut(limit, Truncation.START), names)
    head = list(encode(text.head("why")))
    kept = limit - len(head) - len(ending)
    assert list(from_start.ids) == [*head, *encode("because " * 50)[-kept:], *ending]
    with pytest.raises(ContextTooLong) as refused:
        await reader.read(pairs, Cut(limit, Truncation.NONE), names)
    assert refused.value.param == "documents[1]"
    assert str(len(whole)) in str(refused.value)


@pytest.mark.parametrize("truncation", [Truncation.END, Truncation.START])
@pytest.mark.parametrize("shift", range(6))
async def test_a_document_of_which_no_more_is_read_than_fits_ends_as_the_template_does_too(names, truncation, shift):
    """Its run may have exactly as many tokens as fit, which is no whole text."""
    inner = tokenizers.Tokenizer(tokenizers.models.BPE())
    splitter = pre_tokenizers.Split(tokenizers.Regex(cuts._WORDS % ""), "isolated")
    to_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.pre_tokenizer = pre_tokenizers.Sequence([splitter, to_bytes])
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    inner.train_from_iterator([" abcde" * 50], trainer)
    inner.add_special_tokens(["<|im_end|>"])
    pool = TokenizerPool(Tokenizer(inner), 1)
    assert isinstance(pool.tokenizer._window, cuts.Cuts)
    end = inner.token_to_id("<|im_end|>")
    reader, limit = TemplateText(pool, pair_text_of("{query}{document}<|im_end|>", None)), 196 + shift
    [read] = await reader.read([("z", " abcde" * 3000)], Cut(limit, truncation), names)
    assert len(read.ids) == limit
    assert read.ids[-1] == end
    assert list(read.ids[:1]) == list(pool.tokenizer.body("z"))
    pool.close()


@pytest.mark.parametrize("truncation", [Truncation.END, Truncation.START, Truncation.NONE])
async def test_a_query_that_leaves_no_room_for_a_document_is_refused_before_any_is_read(
    pool, names, monkeypatch, truncation
):
    """Every document would get one score: that of no document."""
    text = pair_text_of("{query}|{document}<|im_end|>", None)
    reader, seen = TemplateText(pool, text), []
    pairs = [("why", "because"), *(("w" * 62, f"because {place}") for place in range(50))]
    part = type(pool.tokenizer).part
    monkeypatch.setattr(type(pool.tokenizer), "part", lambda self, *given: seen.append(given) or part(self, *given))
    with pytest.raises(ContextTooLong, match=r"query\[1\] has 64 tokens.* of 64 .*no room") as refused:
        await reader.read(pairs, Cut(64, truncation), names)
    assert refused.value.param == "query[1]"
    assert seen == []


@pytest.mark.parametrize("truncation", [Truncation.END, Truncation.START])
async def test_a_query_that_leaves_room_for_one_token_of_a_document_is_read_with_it(pool, names, truncation):
    text = pair_text_of("{query}|{document}<|im_end|>", None)
    [found] = await TemplateText(pool, text).read([("w" * 61, "xyz")], Cut(64, truncation), names)
    letter = "x" if truncation is Truncation.END else "z"
    assert list(found.ids) == list(pool.tokenizer.body("w" * 61 + f"|{letter}<|im_end|>"))


async def test_a_document_of_its_own_bound_is_shortened_before_it_is_put_into_the_template(pool, names):
    text = pair_text_of("{query}|{document}.", None)
    [ended] = await TemplateText(pool, text).read([("q", "abcdef")], Cut(99, Truncation.END, 3), names)
    [started] = await TemplateText(pool, text).read([("q", "abcdef")], Cut(99, Truncation.START, 3), names)
    assert list(ended.ids) == list(pool.tokenizer.body("q|abc."))
    assert list(started.ids) == list(pool.tokenizer.body("q|def."))


@pytest.mark.parametrize("chat", [None, PLAIN_CHAT])
@pytest.mark.parametrize(
    "config",
    [
        {"modules": ["Transformer", "LogitScore"]},
        {"architectures": ["Qwen3ForSequenceClassification"], "num_labels": 1},
    ],
)
def test_a_reranker_that_needs_a_template_and_has_none_does_not_start(folder, pool, no_prompts, chat, config):
    with pytest.raises(ConfigError) as refused:
        scoring_model_of(folder(chat, **config), None, no_prompts, pool)
    assert "scoring.template" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("rules", [None, ScoringRules(template=TEMPLATE, instruction="Find it.")])
def test_a_template_of_the_model_or_of_the_manifest_is_taken(folder, pool, no_prompts, rules):
    made = folder(CHAT if rules is None else None, ["Transformer", "LogitScore"])
    assert isinstance(scoring_model_of(made, rules, no_prompts, pool).reader, TemplateText)


def test_a_language_model_without_modules_scores_where_the_manifest_says_so(folder, pool, no_prompts):
    assert scoring_model_of(folder(CHAT), None, no_prompts, pool) is None
    assert scoring_model_of(folder(CHAT), ScoringRules(), no_prompts, pool) is not None


def test_a_classifier_of_several_labels_needs_no_template(folder, pool, no_prompts):
    made = folder(architectures=["Qwen3ForSequenceClassification"], num_labels=3)
    assert isinstance(scoring_model_of(made, None, no_prompts, pool).reader, SpecialTokens)


def test_scoring_of_a_model_that_embeds_is_refused(folder, pool, no_prompts):
    made = folder(None, ["Transformer", "Pooling"], architectures=["Qwen3Model"])
    with pytest.raises(ConfigError, match="no model that scores"):
        scoring_model_of(made, ScoringRules(), no_prompts, pool)


async def test_what_is_served_through_a_template_is_what_the_engine_reads(
    serve, ScoringEngine, folder, pool, values_of
):
    engine = await ScoringEngine(limit=4096).start()
    spec = {"scoring": {"template": TEMPLATE, "instruction": "Find it."}}
    served = await serve(engine, model=folder(), embedding=rules_of(spec))
    answer = await served.post("/rerank", query="why", texts=["because", ""], raw_scores=True)
    assert answer.status == 200, answer.body
    text = pair_text_of(TEMPLATE, "Find it.")
    for each in answer.body:
        ids = pool.tokenizer.body(text.whole("why", ["because", ""][each["index"]]))
        assert each["score"] == pytest.approx(values_of(ids, bytes(len(ids)))[0])
    await engine.stop()


@pytest.mark.parametrize("truncate", [None, "end", "start", "none"])
async def test_a_query_that_fills_what_the_model_reads_is_refused_by_name(serve, ScoringEngine, folder, truncate):
    engine = await ScoringEngine(limit=128).start()
    served = await serve(engine, model=folder(), embedding=rules_of({"scoring": {"template": "{query}|{document}."}}))
    body = {"query": "w" * 126, "documents": ["a", "b"], "truncate": truncate}
    answer = await served.post("/v1/rerank", **body)
    assert answer.status == 400, answer.body
    assert (answer.body["error"]["param"], answer.body["error"]["code"]) == ("query", "context_length_exceeded")
    answer = await served.post("/v1/score", text_1=["a", "w" * 126], text_2=["b", "c"], truncate=truncate)
    assert answer.body["error"]["param"] == "text_1[1]"
    assert engine.calls == []
    assert (await served.post("/v1/rerank", **{**body, "query": "w" * 125})).status == 200
    await engine.stop()
