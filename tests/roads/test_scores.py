"""Scores of the real programs against sentence-transformers' CrossEncoder, from text to score.

The models are small and random, with weights large enough that a wrong token, type or mask shows.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import requests
import torch
from roadkit.program import Programs
from roadkit.stack import Gateway, Starter
from sentence_transformers import CrossEncoder
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors
from transformers import (
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    PreTrainedTokenizerFast,
    Qwen3Config,
    Qwen3ForCausalLM,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
)

pytestmark = pytest.mark.processes

LIMIT = 48
QUERY = "what climbs on a trellis in spring?"
DOCUMENTS = [
    "Plants climb on it.",
    "a bulb",
    "",
    "Roses, beans and a wild vine that nobody had planted. " * 12,
    "a bulb",
    "Ein Spalier trägt Rosen 玫瑰.",
]
CHAT = (
    "{%- for message in messages %}{% if loop.first and message.role != 'system' %}<|im_start|>system\nJudge."
    "<|im_end|>\n{% endif %}{% if message.role == 'query' %}<|im_start|>user\n<Query>: {{ message.content }}\n"
    "{% elif message.role == 'document' %}<Document>: {{ message.content }}<|im_end|>\n<|im_start|>assistant\n"
    "{% else %}<|im_start|>system\n{{ message.content }}<|im_end|>\n{% endif %}{% endfor -%}"
)
SIZES: dict[str, Any] = {
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 128,
    "initializer_range": 0.2,
}


@dataclass(frozen=True)
class Pair:
    """A model in a gateway, and the same in the reference."""

    gateway: Gateway
    reference: CrossEncoder

    def post(self, path: str, **body: Any) -> Any:
        answer = requests.post(self.gateway.url + path, json=body, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()


def _bert(folder: Path, minilm: Path) -> None:
    config = BertConfig(vocab_size=30522, num_labels=1, max_position_embeddings=64, **SIZES)
    BertForSequenceClassification(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(str(minilm), model_max_length=LIMIT).save_pretrained(folder)


def _pieces() -> Tokenizer:
    letters = sorted({letter for text in (QUERY, *DOCUMENTS) for letter in text if letter != " "})
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁a", "▁climb", "▁Ros", "en", *letters]
    inner = Tokenizer(models.Unigram([(piece, -1.0 - place / 10) for place, piece in enumerate(pieces)], 3))
    inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    inner.add_special_tokens([AddedToken(token, special=True) for token in ("<s>", "<pad>", "</s>", "<unk>")])
    return inner


def _xlm_roberta(folder: Path, _: Path) -> None:
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=_pieces(),
        model_max_length=LIMIT,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        model_input_names=["input_ids", "attention_mask"],
    )
    config = XLMRobertaConfig(
        vocab_size=len(tokenizer), num_labels=1, max_position_embeddings=66, type_vocab_size=1, pad_token_id=1, **SIZES
    )
    XLMRobertaForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _qwen3(folder: Path, _: Path) -> None:
    """A language model that reranks, as sentence-transformers itself saves one."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {word: place for place, word in enumerate([*alphabet, "ye", "yes", "no"])}
    inner = Tokenizer(models.BPE(words, [("y", "e"), ("ye", "s"), ("n", "o")]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.add_special_tokens(
        [AddedToken(token, special=True) for token in ("<|im_start|>", "<|im_end|>", "<|endoftext|>")]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        model_max_length=400,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=CHAT,
    )
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        num_key_value_heads=1,
        head_dim=32,
        max_position_embeddings=1024,
        tie_word_embeddings=True,
        pad_token_id=tokenizer.pad_token_id,
        **SIZES,
    )
    made = folder / "made"
    Qwen3ForCausalLM(config).save_pretrained(made)
    tokenizer.save_pretrained(made)
    CrossEncoder(str(made), device="cpu", local_files_only=True).save_pretrained(str(folder))


MAKERS = {"bert": _bert, "xlm-roberta": _xlm_roberta, "qwen3": _qwen3}


@pytest.fixture(scope="module", params=MAKERS)
def pair(
    request: pytest.FixtureRequest, programs: Programs, minilm: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    torch.manual_seed(5)
    folder = tmp_path_factory.mktemp(request.param)
    MAKERS[request.param](folder, minilm)
    rules = folder / "embedding.json"
    rules.write_text(json.dumps({}))
    starter = Starter(programs, folder)
    engine = starter.engine("--embedding", str(rules))
    gateway = starter.gateway([engine], "--embedding", str(rules))
    yield Pair(gateway, CrossEncoder(str(folder), device="cpu", local_files_only=True))
    starter.stop(gateway.program)
    starter.stop(engine.program)


def test_scores_and_raw_scores_are_those_of_the_reference(pair: Pair) -> None:
    pairs = [(QUERY, document) for document in DOCUMENTS]
    scores = pair.reference.predict(pairs)
    raw = pair.reference.predict(pairs, activation_fn=torch.nn.Identity())
    found = pair.post("/v1/score", text_1=QUERY, text_2=DOCUMENTS)["data"]
    found_raw = pair.post("/v1/score", text_1=QUERY, text_2=DOCUMENTS, raw_scores=True)["data"]
    np.testing.assert_allclose([each["score"] for each in found], scores, atol=1e-5)
    np.testing.assert_allclose([each["score"] for each in found_raw], raw, atol=1e-4)
    assert np.ptp(raw) > 0.1


def test_documents_are_ranked_as_by_the_reference(pair: Pair) -> None:
    wanted = pair.reference.rank(QUERY, DOCUMENTS)
    found = pair.post("/v2/rerank", query=QUERY, documents=DOCUMENTS)["results"]
    scores = {each["index"]: each["relevance_score"] for each in found}
    np.testing.assert_allclose(
        list(scores.values()), [each["score"] for each in sorted(wanted, key=lambda each: -each["score"])], atol=1e-5
    )
    for each in wanted:
        assert scores[each["corpus_id"]] == pytest.approx(float(each["score"]), abs=1e-5)
    places = list(scores)
    assert places.index(4) == places.index(1) + 1
    assert scores[1] == scores[4]


def test_a_thousand_documents_get_the_scores_that_they_get_alone(pair: Pair) -> None:
    documents = [f"{'a wild vine ' * (number % 40)}{number}" for number in range(1000)]
    found = pair.post("/rerank", query=QUERY, texts=documents, raw_scores=True)
    scores = {each["index"]: each["score"] for each in found}
    sample = list(range(0, 1000, 97))
    raw = pair.reference.predict([(QUERY, documents[place]) for place in sample], activation_fn=torch.nn.Identity())
    np.testing.assert_allclose([scores[place] for place in sample], raw, atol=1e-4)
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
