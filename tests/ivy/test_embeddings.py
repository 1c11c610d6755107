"""The road of a request through a served gateway: forms of input, encodings, prompts, order, usage."""

import asyncio
import base64

import numpy as np
import pytest
import tokenizers
from ivy.embedding import EmbeddingRules
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import unpack_ids


@pytest.fixture(scope="module")
def ids_of(minilm):
    """The ids that the model's own tokenizer gives, cut to 256 at the end or at the start."""
    sides = {}
    for side in ("right", "left"):
        sides[side] = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
        sides[side].no_padding()
        sides[side].enable_truncation(256, direction=side)
    return lambda text, side="right": sides[side].encode(text).ids


def vectors(answer) -> np.ndarray:
    return np.array([each["embedding"] for each in answer.body["data"]], dtype=np.float32)


def sent(engine) -> list[list[int]]:
    """Every sequence that reached the engine, in the order it came."""
    return [ids.tolist() for call in engine.calls for ids in unpack_ids(call.token_ids, call.lengths)]


async def test_a_text_becomes_the_vector_of_its_ids(gateway, ids_of, vector_of):
    answer = await gateway.embed(input="What is a trellis?")
    assert answer.status == 200
    np.testing.assert_array_equal(vectors(answer)[0], vector_of(ids_of("What is a trellis?")))


async def test_the_answer_has_exactly_the_keys_of_openai(gateway, ids_of):
    body = (await gateway.embed(input=["one", "two words"], user="somebody", unknown_field=1)).body
    assert list(body) == ["object", "data", "model", "usage"]
    assert [list(item) for item in body["data"]] == [["object", "index", "embedding"]] * 2
    assert (body["object"], body["data"][1]["object"], body["data"][1]["index"]) == ("list", "embedding", 1)
    tokens = len(ids_of("one")) + len(ids_of("two words"))
    assert body["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}
    assert body["model"] == "minilm"


async def test_token_ids_are_taken_as_they_are(gateway, engine):
    assert (await gateway.embed(input=[101, 2054, 102])).body["usage"]["prompt_tokens"] == 3
    assert (await gateway.embed(input=[[5], [6, 7]], input_type="query")).status == 200
    assert sent(engine) == [[101, 2054, 102], [5], [6, 7]]


async def test_base64_is_the_same_float32_as_the_numbers(gateway):
    numbers = vectors(await gateway.embed(input=["a", "b"], encoding_format="float"))
    answer = await gateway.embed(input=["a", "b"], encoding_format="base64")
    decoded = [np.frombuffer(base64.b64decode(each["embedding"]), "<f4") for each in answer.body["data"]]
    np.testing.assert_array_equal(np.stack(decoded), numbers)


async def test_int8_and_bits_are_what_the_engine_packed(gateway, ids_of, vector_of):
    vector = vector_of(ids_of("a"))
    small = await gateway.embed(input="a", encoding_format="base64_int8")
    bits = await gateway.embed(input="a", encoding_format="base64_binary")
    got = np.frombuffer(base64.b64decode(small.body["data"][0]["embedding"]), np.int8)
    np.testing.assert_array_equal(got, np.round(127 * np.tanh(vector)).astype(np.int8))
    packed = np.frombuffer(base64.b64decode(bits.body["data"][0]["embedding"]), np.uint8)
    np.testing.assert_array_equal(packed, np.packbits(vector >= 0, bitorder="little"))


async def test_dimensions_and_normalize_reach_the_engine(gateway, engine):
    assert vectors(await gateway.embed(input="a", dimensions=4, normalize=False)).shape == (1, 4)
    assert (engine.calls[-1].dimensions, engine.calls[-1].normalize) == (4, False)
    assert vectors(await gateway.embed(input="a", dimensions=8)).shape == (1, 8)
    assert not engine.calls[-1].HasField("normalize")


@pytest.mark.parametrize(("truncate", "side"), [("end", "right"), ("start", "left"), (True, "right"), ("END", "right")])
async def test_truncation_gives_what_the_tokenizer_itself_would(gateway, engine, ids_of, truncate, side):
    text = " ".join(f"word{number}" for number in range(4000))
    answer = await gateway.embed(input=text, truncate=truncate)
    assert sent(engine) == [ids_of(text, side)]
    assert answer.body["usage"]["prompt_tokens"] == 256


async def test_the_configured_truncation_holds_until_a_caller_says_otherwise(serve, engine):
    gateway = await serve(engine, embedding=EmbeddingRules(truncation="end"))
    text = "word " * 1000
    assert (await gateway.embed(input=text)).status == 200
    assert (await gateway.embed(input=text, truncate=False)).body["error"]["code"] == "context_length_exceeded"


async def test_token_ids_are_cut_without_special_tokens(gateway, engine):
    ids = list(range(1000, 1300))
    await gateway.embed(input=ids, truncate="start")
    await gateway.embed(input=[ids], truncate="end")
    assert sent(engine) == [ids[-256:], ids[:256]]


PROMPTS = EmbeddingRules(prompts={"query": "query: ", "passage": "passage: ", "code": "code: "}, default_prompt="code")


@pytest.mark.parametrize(
    ("asked", "prompt"),
    [
        ({}, "code: "),
        ({"input_type": "query"}, "query: "),
        ({"input_type": "SEARCH_QUERY"}, "query: "),
        ({"input_type": "document"}, "passage: "),
        ({"input_type": "retrieval.passage"}, "passage: "),
        ({"input_type": "code"}, "code: "),
        ({"prompt_name": "passage"}, "passage: "),
        ({"model": "minilm-query"}, "query: "),
        ({"model": "minilm-passage"}, "passage: "),
        ({"model": "minilm-query", "prompt_name": "code"}, "code: "),
    ],
)
async def test_the_prompt_that_was_asked_for_goes_before_the_text(serve, engine, ids_of, asked, prompt):
    gateway = await serve(engine, embedding=PROMPTS)
    assert (await gateway.embed(input="text", **asked)).status == 200
    assert sent(engine) == [ids_of(prompt + "text")]


BOTH = {"document": "doc: ", "passage": "passage: "}


@pytest.mark.parametrize(
    ("prompts", "asked", "prompt"),
    [
        (BOTH, {"model": "minilm-passage"}, "passage: "),
        (BOTH, {"input_type": "passage"}, "passage: "),
        (BOTH, {"input_type": "Passage"}, "passage: "),
        (BOTH, {"input_type": "retrieval.passage"}, "passage: "),
        (BOTH, {"input_type": "document"}, "doc: "),
        (BOTH, {"input_type": "search_document"}, "doc: "),
        ({"document": "doc: "}, {"model": "minilm-passage"}, "doc: "),
        ({"document": "doc: "}, {"input_type": "passage"}, "doc: "),
        ({**BOTH, "document": ""}, {"model": "minilm-passage"}, "passage: "),
        ({**BOTH, "document": ""}, {"input_type": "passage"}, "passage: "),
        ({**BOTH, "document": ""}, {"input_type": "search_document"}, "passage: "),
        ({**BOTH, "document": ""}, {"prompt_name": "document"}, ""),
        ({"document": ""}, {"input_type": "document"}, ""),
    ],
)
async def test_a_passage_gets_its_own_prompt_however_it_is_asked_for(serve, engine, ids_of, prompts, asked, prompt):
    gateway = await serve(engine, embedding=EmbeddingRules(prompts=prompts))
    assert (await gateway.embed(input="text", **asked)).status == 200
    assert sent(engine) == [ids_of(prompt + "text")]


@pytest.mark.parametrize("asked", [{"input_type": "query"}, {"model": "minilm-query"}, {"model": "minilm-passage"}])
async def test_a_model_without_prompts_takes_the_text_as_it_is(gateway, engine, ids_of, asked):
    assert (await gateway.embed(input="text", **asked)).status == 200
    assert sent(engine) == [ids_of("text")]


async def test_many_inputs_go_in_chunks_and_come_back_in_order(serve, engines, ids_of, vector_of, until):
    gateway = await serve(*engines, chunk_tokens=64)
    await until(lambda: len(gateway.gateway.engines.cards()) == 2)
    texts = [f"text number {number} " * (1 + number % 7) for number in range(500)]
    answer = await gateway.embed(input=texts)
    assert [each["index"] for each in answer.body["data"]] == list(range(500))
    np.testing.assert_array_equal(vectors(answer), np.stack([vector_of(ids_of(text)) for text in texts]))
    assert all(engine.calls for engine in engines)
    assert all(len(call.token_ids) // 4 <= 64 for engine in engines for call in engine.calls)


async def test_every_call_names_the_digest_it_was_tokenized_for(gateway, engine):
    await gateway.embed(input="a", encoding_format="base64")
    assert engine.calls[0].model_digest == "sha256:one"
    assert engine.calls[0].vector_type == pb.VECTOR_TYPE_FLOAT32


async def test_parallel_requests_with_different_settings_never_mix(gateway, ids_of, vector_of):
    long = [" ".join(f"w{number}{place}" for number in range(size)) for place, size in enumerate((3, 100, 700, 4000))]

    async def one(number: int) -> None:
        text, side = long[number % 4], ("right", "left")[number // 4 % 2]
        truncate = "end" if side == "right" else "start"
        texts = [f"{text} {number}", f"short {number}"] if number % 3 else [f"{text} {number}"]
        answer = await gateway.embed(input=texts, truncate=truncate)
        expected = np.stack([vector_of(ids_of(each, side)) for each in texts])
        np.testing.assert_array_equal(vectors(answer), expected)

    await asyncio.gather(*(one(number) for number in range(64)))


async def test_stages_come_back_with_decimals(gateway):
    stages = (await gateway.embed(input="a")).headers["server-timing"]
    named = dict(each.strip().split(";dur=") for each in stages.split(","))
    assert list(named) == ["parse", "hold", "tokenize", "queue", "launch", "forward", "settle", "render", "total"]
    engine = [float(named[stage]) for stage in ("queue", "launch", "forward", "settle")]
    assert engine == [0.25, 0.125, 1.5, 0.5]
    own = [float(named[stage]) for stage in ("parse", "tokenize", "render")]
    assert min(own) > 0
    assert sum(own) < float(named["total"])
