"""Half of a surrogate pair in a body: the field is named, wherever it stands, and the answer is always JSON."""

import pytest
from ivy.api.blame import lone_surrogate


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (rb'{"input":"\ud800"}', "input"),
        (rb'{"input":["a","\udfff b"]}', "input[1]"),
        (rb'{"inputs":[["a"],["b","\ud83d"]]}', "inputs[1][1]"),
        (rb'{"inputs":{"source_sentence":"a","sentences":["\ud800"]}}', "inputs.sentences[0]"),
        (rb'{"inputs":[{"content":[{"type":"text","text":"\ud800"}]}]}', "inputs[0].content[0].text"),
        (rb'{"a":"\ud83d\ude00","b":"\\ud800"}', None),
        (rb'{"\ud800":"\ud800"}', "?"),
        (rb'{"input":"\ud800', None),
        (b'{"input":' + b"[" * 500 + rb'"\ud800"' + b"]" * 500 + b"}", None),
    ],
)
def test_the_first_field_with_half_of_a_pair_is_named(body, param):
    assert lone_surrogate(body) == param


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/v1/embeddings", rb'{"model":"minilm","input":"a","\ud800":"\ud800"}', "?"),
        ("/v1/contextualizedembeddings", rb'{"model":"minilm","inputs":[["a","\ud800"]]}', "inputs[0][1]"),
        ("/similarity", rb'{"inputs":{"source_sentence":"a","sentences":["\ud800"]}}', "inputs.sentences[0]"),
        ("/v2/embed", rb'{"model":"minilm","texts":["a","\ud800"]}', "texts[1]"),
    ],
)
async def test_every_route_answers_with_the_field(gateway, path, body, param):
    answer = await gateway.raw(body, path=path)
    assert (answer.status, answer.body["error"]["param"]) == (400, param)
