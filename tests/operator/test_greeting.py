"""The lines that `local` prints to be pasted: a question that the model answers, whatever it is for."""

import json
import shlex

import pytest
from ivy.api import parse, predict, rerank, several
from trellis_operator.local.greeting import Purpose, greeting
from trellis_operator.local.purpose import purpose
from trellis_wire.v1.embedding_pb2 import InfoResponse

INFOS = [
    (InfoResponse(), Purpose.EMBED),
    (InfoResponse(task="embed", outputs=["dense", "sparse", "tokens"]), Purpose.EMBED),
    (InfoResponse(task="embed", outputs=["sparse"]), Purpose.SPARSE),
    (InfoResponse(task="embed", outputs=["tokens"]), Purpose.TOKENS),
    (InfoResponse(task="score", outputs=["dense"], labels=["LABEL_0"]), Purpose.RANK),
    (InfoResponse(task="score", labels=["contradiction", "entailment", "neutral"]), Purpose.LABEL),
]

PARSERS = {
    Purpose.EMBED: parse.parse,
    Purpose.RANK: rerank.parse,
    Purpose.LABEL: predict.parse,
    Purpose.SPARSE: several.parse_sparse,
    Purpose.TOKENS: several.parse_all,
}


@pytest.mark.parametrize(("info", "expected"), INFOS)
def test_what_a_model_is_for_is_read_from_its_engine(info: InfoResponse, expected: Purpose) -> None:
    assert purpose(info) is expected


@pytest.mark.parametrize("what", Purpose)
def test_the_body_that_is_printed_is_one_that_the_gateway_takes(what: Purpose) -> None:
    curl, python = greeting("http://127.0.0.1:8080", what, "m", needs_key=False)
    words = shlex.split(curl)
    assert words[2] == f"http://127.0.0.1:8080{what.value.path}"
    PARSERS[what](words[-1].encode(), 8)
    assert repr(json.loads(words[-1])) in python
