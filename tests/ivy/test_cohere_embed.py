"""`/v2/embed` with the real client of Cohere, and by hand where the client would not send it."""

import asyncio

import cohere
import numpy as np
import pytest
import tokenizers
from ivy.embedding import EmbeddingRules
from sentence_transformers.util import quantize_embeddings
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import unpack_ids

TEXTS = ["What is a trellis?", "A frame that plants climb."]


@pytest.fixture(scope="module")
def ids_of(minilm):
    inner = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    inner.no_padding()
    inner.no_truncation()
    return lambda text: inner.encode(text).ids


@pytest.fixture
async def client(gateway):
    async with cohere.AsyncClientV2(api_key="any", base_url=gateway.url) as made:
        yield made


def sent(engine):
    return [ids.tolist() for call in engine.calls for ids in unpack_ids(call.token_ids, call.lengths)]


async def test_all_types_come_of_one_pass(client, engine, ids_of, vector_of):
    types = ["float", "int8", "uint8", "binary", "ubinary", "base64"]
    answer = await client.embed(model="minilm", texts=TEXTS, input_type="search_document", embedding_types=types)
    expected = np.stack([vector_of(ids_of(text)) for text in TEXTS])
    small = np.round(127 * np.tanh(expected)).astype(int)
    found = answer.embeddings
    np.testing.assert_array_equal(np.array(found.float_, np.float32), expected)
    np.testing.assert_array_equal(found.int8, small)
    np.testing.assert_array_equal(found.uint8, small + 128)
    np.testing.assert_array_equal(found.binary, quantize_embeddings(expected, "binary"))
    np.testing.assert_array_equal(found.ubinary, quantize_embeddings(expected, "ubinary"))
    assert len(found.base64) == 2
    [call] = engine.calls
    assert [call.vector_type, *(each.vector_type for each in call.also)] == [
        pb.VECTOR_TYPE_FLOAT32,
        pb.VECTOR_TYPE_INT8,
    ]


async def test_the_answer_has_what_the_client_reads(client, ids_of):
    answer = await client.embed(model="minilm", texts=TEXTS, input_type="search_query")
    assert answer.response_type == "embeddings_by_type"
    assert answer.texts == TEXTS
    assert answer.id
    assert answer.meta.billed_units.input_tokens == sum(len(ids_of(text)) for text in TEXTS)
    assert answer.embeddings.int8 is None


async def test_the_client_that_waits(gateway):
    def embed():
        with cohere.ClientV2(api_key="any", base_url=gateway.url) as client:
            return client.embed(model="minilm", texts=TEXTS, input_type="classification", output_dimension=4)

    assert np.shape((await asyncio.to_thread(embed)).embeddings.float_) == (2, 4)


async def test_inputs_in_parts_are_one_text_each(client, engine, ids_of):
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    await client.embed(model="minilm", inputs=[{"content": parts}], input_type="search_query")
    assert sent(engine) == [ids_of("one\ntwo")]


async def test_roles_choose_prompts(serve, engine, ids_of):
    gateway = await serve(engine, embedding=EmbeddingRules(prompts={"query": "query: ", "document": "text: "}))
    async with cohere.AsyncClientV2(api_key="any", base_url=gateway.url) as client:
        for role in ("search_query", "search_document", "clustering"):
            await client.embed(model="minilm", texts=["a"], input_type=role)
    assert sent(engine) == [ids_of("query: a"), ids_of("text: a"), ids_of("a")]


async def test_a_long_text_is_cut_at_its_end_unless_something_else_is_said(client, gateway, serve, engine, ids_of):
    long = "ivy " * 500
    await client.embed(model="minilm", texts=[long], input_type="search_query")
    await client.embed(model="minilm", texts=[long], input_type="search_query", max_tokens=12)
    assert [len(ids) for ids in sent(engine)] == [256, 12]
    with pytest.raises(cohere.errors.BadRequestError) as refused:
        await client.embed(model="minilm", texts=["a", long], input_type="search_query", truncate="NONE")
    assert refused.value.body["error"]["param"] == "texts[1]"
    assert refused.value.body["error"]["code"] == "context_length_exceeded"
    strict = await serve(engine, embedding=EmbeddingRules(truncation="error"))
    assert (await strict.post("/v2/embed", model="minilm", texts=[long])).status == 400


async def test_errors_become_the_clients_own(client):
    with pytest.raises(cohere.errors.NotFoundError):
        await client.embed(model="gpt", texts=["a"], input_type="search_query")
    with pytest.raises(cohere.errors.BadRequestError) as refused:
        await client.embed(model="minilm", texts=["a", ""], input_type="search_query")
    assert refused.value.body["error"]["param"] == "texts[1]"


@pytest.mark.parametrize(
    ("param", "fields"),
    [
        ("texts", {}),
        ("texts", {"texts": []}),
        ("texts", {"texts": ["a"], "inputs": [{"content": [{"type": "text", "text": "a"}]}]}),
        ("images", {"images": ["data:image/png;base64,AA=="]}),
        ("inputs[0].content[1]", {"inputs": [{"content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}]}),
        ("inputs[0]", {"inputs": [{"content": []}]}),
        ("embedding_types[1]", {"texts": ["a"], "embedding_types": ["float", "int4"]}),
        ("output_dimension", {"texts": ["a"], "output_dimension": 5}),
        ("truncate", {"texts": ["a"], "truncate": "MIDDLE"}),
        ("max_tokens", {"texts": ["a"], "max_tokens": 2}),
        ("input_type", {"texts": ["a"], "input_type": "image"}),
    ],
)
async def test_what_is_wrong_is_named(gateway, param, fields):
    answer = await gateway.post("/v2/embed", model="minilm", **fields)
    assert answer.status == 400
    assert answer.body["error"]["param"] == param, answer.body


@pytest.mark.parametrize("images", [[], None])
async def test_no_images_are_none(gateway, images):
    assert (await gateway.post("/v2/embed", model="minilm", texts=["a"], images=images)).status == 200


async def test_a_text_that_is_too_long_may_be_read_in_windows_unless_its_rows_are_of_whole_inputs(gateway):
    long = {"model": "minilm", "texts": ["ivy " * 500], "truncate": "NONE"}
    message = (await gateway.post("/v2/embed", **long)).body["error"]["message"]
    assert message.endswith("ask for truncate 'end', 'start' or 'chunk'")


async def test_half_precision_is_numbers_of_that_precision(gateway, ids_of, vector_of):
    types = ["float16", "bfloat16", "float16"]
    answer = await gateway.post("/v2/embed", model="minilm", texts=["a"], embedding_types=types)
    vector = vector_of(ids_of("a"))
    assert list(answer.body["embeddings"]) == ["float16", "bfloat16"]
    np.testing.assert_array_equal(
        np.array(answer.body["embeddings"]["float16"][0], np.float16), vector.astype(np.float16)
    )
    np.testing.assert_allclose(answer.body["embeddings"]["bfloat16"][0], vector, rtol=2**-8)
