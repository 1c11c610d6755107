"""Types of vectors over HTTP, prompts that are seen and not pooled, and long texts in windows."""

import base64
import json
import shutil

import numpy as np
import pytest
import tokenizers
from ivy.embedding import EmbeddingRules
from sentence_transformers.util import quantize_embeddings
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import unpack_ids, unpack_spans

LONG = " ".join(f"word{number}" for number in range(600))


@pytest.fixture(scope="module")
def ids_of(minilm):
    """The ids of a text, all of them, special tokens included."""
    inner = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    inner.no_padding()
    inner.no_truncation()
    return lambda text: inner.encode(text).ids


def sent(engine):
    """Every sequence that reached the engine, with its spans."""
    found = []
    for call in engine.calls:
        sequences = unpack_ids(call.token_ids, call.lengths)
        spans = unpack_spans(call.spans, [len(ids) for ids in sequences])
        found += [(ids.tolist(), list(own)) for ids, own in zip(sequences, spans, strict=True)]
    return found


def unit(vector):
    return vector / np.linalg.norm(vector)


def wanted(vector, dtype):
    """What each type of a vector is, in the definitions of others."""
    if dtype in ("binary", "ubinary"):
        return quantize_embeddings(vector[None], dtype)[0]
    small = np.clip(np.round(127 * np.tanh(vector)), -128, 127).astype(np.int8)
    return {
        "float": vector,
        "float32": vector,
        "float16": vector.astype(np.float16),
        "int8": small,
        "uint8": (small.astype(int) + 128).astype(np.uint8),
    }[dtype]


@pytest.mark.parametrize("dtype", ["float", "float32", "float16", "int8", "uint8", "binary", "ubinary"])
async def test_a_type_is_the_same_as_numbers_and_as_bytes(gateway, ids_of, vector_of, dtype):
    expected = wanted(vector_of(ids_of("a")), dtype)
    numbers = (await gateway.embed(input="a", output_dtype=dtype)).body["data"][0]["embedding"]
    np.testing.assert_array_equal(np.array(numbers, expected.dtype), expected)
    text = (await gateway.embed(input="a", output_dtype=dtype, encoding_format="base64")).body["data"][0]["embedding"]
    assert base64.b64decode(text) == expected.tobytes()


async def test_bfloat16_has_two_bytes_a_dimension(gateway, ids_of, vector_of):
    vector = vector_of(ids_of("a"))
    text = (await gateway.embed(input="a", output_dtype="bfloat16", encoding_format="base64")).body["data"][0][
        "embedding"
    ]
    halves = np.frombuffer(base64.b64decode(text), "<u2").astype(np.uint32) << 16
    np.testing.assert_allclose(halves.view(np.float32), vector, rtol=2**-8)
    numbers = (await gateway.embed(input="a", output_dtype="bfloat16")).body["data"][0]["embedding"]
    np.testing.assert_array_equal(np.array(numbers, np.float32), halves.view(np.float32))


async def test_a_format_that_says_the_type_and_another_type_are_refused(gateway):
    answer = await gateway.embed(input="a", output_dtype="int8", encoding_format="base64_int8")
    assert (answer.status, answer.body["error"]["param"]) == (400, "output_dtype")
    answer = await gateway.embed(input="a", output_dtype="int4")
    assert (answer.status, answer.body["error"]["param"]) == (400, "output_dtype")


async def test_int8_is_asked_of_the_engine_and_never_made_of_normalised_numbers(gateway, engine):
    await gateway.embed(input="a", output_dtype="uint8")
    assert engine.calls[-1].vector_type == pb.VECTOR_TYPE_INT8


@pytest.fixture
def without_prompt(minilm, tmp_path):
    """The model, whose files say that prompts are not pooled."""
    folder = tmp_path / "model"
    shutil.copytree(minilm, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.onnx"))
    path = folder / "1_Pooling" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "include_prompt": False}))
    return folder


PROMPTS = EmbeddingRules(prompts={"query": "find this text: "})


async def test_a_prompt_that_is_not_pooled_is_left_out_by_its_tokens(serve, engine, ids_of, without_prompt):
    gateway = await serve(engine, model=without_prompt, embedding=PROMPTS)
    assert (await gateway.embed(input=["a text", "b"], input_type="query")).status == 200
    assert (await gateway.embed(input="a text")).status == 200
    whole, prompt = ids_of("find this text: a text"), len(ids_of("find this text: ")) - 1
    assert sent(engine)[0] == (whole, [(prompt, len(whole))])
    assert sent(engine)[2] == (ids_of("a text"), [(0, len(ids_of("a text")))])


async def test_a_prompt_that_was_cut_with_the_start_leaves_out_what_is_left_of_it(
    serve, engine, ids_of, without_prompt
):
    gateway = await serve(engine, model=without_prompt, embedding=PROMPTS)
    words = ids_of("trellis " * 400)[1:-1]
    room = 254
    # All of the prompt but its first two tokens is left when the text is three tokens shorter than the room.
    own = len(ids_of("find this text: ")) - 2
    text = "ivy " * (room - own + 2)
    assert len(ids_of(text)) - 2 == room - own + 2
    await gateway.embed(input=[text, "trellis " * 400], input_type="query", truncate="start")
    (partly, spans), (cut, none) = sent(engine)
    assert len(partly) == 256
    assert spans == [(1 + own - 2, 256)]
    assert cut[1:-1] == words[-room:]
    assert none == [(1, 256)]


@pytest.mark.parametrize(("pooling", "begin"), [("cls", 0), ("lastToken", 0), ("max", 5), ("mean+max", 5)])
async def test_poolings_by_place_see_the_whole_text(serve, engine, without_prompt, pooling, begin):
    engine.pooling = pooling
    gateway = await serve(engine, model=without_prompt, embedding=PROMPTS)
    await gateway.embed(input="a", input_type="query")
    assert sent(engine)[0][1][0][0] == begin


async def test_half_a_pooling_by_place_takes_no_prompt_that_is_not_pooled(serve, engine, without_prompt):
    engine.pooling = "cls+mean"
    gateway = await serve(engine, model=without_prompt, embedding=PROMPTS)
    assert (await gateway.embed(input="a", input_type="query")).status == 400
    assert (await gateway.embed(input="a")).status == 200


async def test_a_long_text_in_windows_is_the_average_by_tokens_at_unit_norm(gateway, engine, ids_of, vector_of):
    answer = await gateway.embed(input=[LONG, "short"], truncate="chunk", encoding_format="float")
    windows = sent(engine)[:-1]
    body = ids_of(LONG)[1:-1]
    assert [token for ids, _ in windows for token in ids[1:-1]] == body
    assert all(ids[0] == 101 and ids[-1] == 102 and len(ids) <= 256 for ids, _ in windows)
    assert not engine.calls[0].normalize
    assert engine.calls[0].HasField("normalize")
    mean = sum(len(ids[1:-1]) * vector_of(ids) for ids, _ in windows) / len(body)
    found = [np.array(each["embedding"], np.float32) for each in answer.body["data"]]
    np.testing.assert_allclose(found[0], unit(mean), rtol=1e-5)
    np.testing.assert_allclose(found[1], vector_of(ids_of("short")), rtol=1e-6)
    assert answer.body["usage"]["prompt_tokens"] == len(body) + 2 * len(windows) + len(ids_of("short"))


async def test_what_fits_is_not_averaged_and_is_what_it_always_was(gateway, engine, ids_of):
    await gateway.embed(input="short", truncate="chunk")
    assert sent(engine) == [(ids_of("short"), [(0, len(ids_of("short")))])]
    assert not engine.calls[0].HasField("normalize")


async def test_windows_have_every_type_too(gateway, engine, ids_of, vector_of):
    small = await gateway.embed(input=LONG, truncate="chunk", output_dtype="int8")
    raw = await gateway.embed(input=LONG, truncate="chunk", normalize=False, dimensions=4)
    assert {call.vector_type for call in engine.calls} == {pb.VECTOR_TYPE_FLOAT32}
    first = [ids for ids, _ in sent(engine)][: len(sent(engine)) // 2]
    mean = sum((len(ids) - 2) * vector_of(ids) for ids in first) / sum(len(ids) - 2 for ids in first)
    assert small.body["data"][0]["embedding"] == np.round(127 * np.tanh(mean)).astype(int).tolist()
    short = sum((len(ids) - 2) * vector_of(ids, 4) for ids in first) / sum(len(ids) - 2 for ids in first)
    np.testing.assert_allclose(raw.body["data"][0]["embedding"], short, rtol=1e-5)


async def test_every_window_has_the_prompt(serve, engine, ids_of):
    gateway = await serve(engine, embedding=EmbeddingRules(prompts={"query": "query: "}, truncation="chunk"))
    assert (await gateway.embed(input=LONG, input_type="query")).status == 200
    prompt = ids_of("query: ")[:-1]
    assert len(sent(engine)) > 1
    assert all(ids[: len(prompt)] == prompt for ids, _ in sent(engine))


async def test_token_ids_in_windows_are_taken_as_they_are(gateway, engine):
    ids = list(range(1000, 1600))
    answer = await gateway.embed(input=[ids, [7]], truncate="chunk")
    assert [token for own, _ in sent(engine) for token in own] == [*ids, 7]
    assert len(answer.body["data"]) == 2


async def test_more_windows_than_inputs_are_allowed_are_refused(serve, engine):
    gateway = await serve(engine, max_inputs=3)
    answer = await gateway.embed(input=["a", LONG], truncate="chunk")
    assert (answer.status, answer.body["error"]["code"]) == (400, "too_many_inputs")
    assert "windows" in answer.body["error"]["message"]


async def test_a_prompt_that_leaves_no_room_is_refused(serve, engine):
    gateway = await serve(engine, embedding=EmbeddingRules(prompts={"long": "word " * 300}))
    answer = await gateway.embed(input="a", prompt_name="long", truncate="chunk")
    assert (answer.status, answer.body["error"]["code"]) == (400, "context_length_exceeded")
