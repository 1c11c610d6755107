"""The routes of text-embeddings-inference with the clients that speak to it, and langchain's, on a served gateway."""

import asyncio
import json
import shutil

import grpc
import numpy as np
import pytest
import tokenizers
from huggingface_hub import AsyncInferenceClient, InferenceClient
from huggingface_hub.errors import HfHubHTTPError
from ivy.embedding import EmbeddingRules
from ivy.errors import ConfigError
from ivy.similarity import Similarity
from langchain_openai import OpenAIEmbeddings
from sentence_transformers import SimilarityFunction
from trellis_wire.v1.packing import unpack_ids

TEXTS = ["What is a trellis?", "A frame that plants climb."]


@pytest.fixture(scope="module")
def tokenizer(minilm):
    inner = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    inner.no_padding()
    inner.no_truncation()
    return inner


@pytest.fixture(scope="module")
def ids_of(tokenizer):
    return lambda text: tokenizer.encode(text).ids


@pytest.fixture
async def client(gateway):
    async with AsyncInferenceClient(model=f"{gateway.url}/embed") as made:
        yield made


def sent(engine):
    return [ids.tolist() for call in engine.calls for ids in unpack_ids(call.token_ids, call.lengths)]


async def test_features_of_texts_and_of_one_text(client, ids_of, vector_of):
    expected = np.stack([vector_of(ids_of(text)) for text in TEXTS])
    np.testing.assert_array_equal(await client.feature_extraction(TEXTS), expected)
    np.testing.assert_array_equal(await client.feature_extraction(TEXTS[0]), expected[:1])


async def test_the_client_that_waits_asks_the_root(gateway, engine):
    def features():
        return InferenceClient(model=gateway.url).feature_extraction(TEXTS, normalize=False, dimensions=4)

    assert (await asyncio.to_thread(features)).shape == (2, 4)
    assert engine.calls[-1].normalize is False


async def test_vectors_are_normalised_unless_the_caller_says_otherwise(gateway, engine):
    await gateway.post("/embed", inputs="a")
    assert engine.calls[-1].normalize is True


async def test_prompts_and_both_sides_of_a_long_text(serve, engine, ids_of):
    gateway = await serve(engine, embedding=EmbeddingRules(prompts={"query": "query: "}))
    async with AsyncInferenceClient(model=f"{gateway.url}/embed") as client:
        await client.feature_extraction("a", prompt_name="query")
        long = " ".join(f"word{number}" for number in range(400))
        await client.feature_extraction(long, truncate=True)
        await client.feature_extraction(long, truncate=True, truncation_direction="left")
        with pytest.raises(HfHubHTTPError) as refused:
            await client.feature_extraction(long, truncate=False)
    assert refused.value.response.status_code == 400
    body = ids_of(long)[1:-1]
    assert sent(engine) == [ids_of("query: a"), [101, *body[:254], 102], [101, *body[-254:], 102]]


async def test_token_ids_are_taken_as_they_are(gateway, engine):
    assert (await gateway.post("/embed", inputs=[[5], [6, 7]])).status == 200
    assert sent(engine) == [[5], [6, 7]]


@pytest.mark.parametrize(
    ("param", "fields"),
    [
        ("inputs", {}),
        ("inputs", {"inputs": []}),
        ("inputs[1]", {"inputs": ["a", ""]}),
        ("truncation_direction", {"inputs": "a", "truncation_direction": "up"}),
        ("prompt_name", {"inputs": "a", "prompt_name": "haiku"}),
        ("dimensions", {"inputs": "a", "dimensions": 3}),
    ],
)
async def test_what_is_wrong_is_named(gateway, param, fields):
    answer = await gateway.post("/embed", **fields)
    assert (answer.status, answer.body["error"]["param"]) == (400, param)


async def test_similarity_is_the_cosine_of_vectors(gateway, ids_of, vector_of):
    async with AsyncInferenceClient(model=f"{gateway.url}/similarity") as client:
        found = await client.sentence_similarity("a rose", other_sentences=["a rose", *TEXTS])
    expected = [vector_of(ids_of("a rose")) @ vector_of(ids_of(text)) for text in ("a rose", *TEXTS)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["cosine", "dot", "euclidean", "manhattan"])
async def test_the_models_own_similarity_is_that_of_sentence_transformers(
    serve, engine, minilm, tmp_path, ids_of, vector_of, name
):
    folder = tmp_path / "model"
    shutil.copytree(minilm, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.onnx"))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"similarity_fn_name": name}))
    gateway = await serve(engine, model=folder)
    found = await gateway.post("/similarity", inputs={"source_sentence": "a rose", "sentences": TEXTS})
    one, others = vector_of(ids_of("a rose")), np.stack([vector_of(ids_of(text)) for text in TEXTS])
    expected = SimilarityFunction.to_similarity_fn(name)(one, others).numpy()[0]
    np.testing.assert_allclose(found.body, expected, rtol=1e-5)


async def test_a_similarity_that_nobody_knows_stops_the_start(serve, engine, minilm, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(minilm, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.onnx"))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"similarity_fn_name": "vibes"}))
    with pytest.raises(ConfigError, match=r"config_sentence_transformers.json: similarity_fn_name 'vibes'"):
        await serve(engine, model=folder)


@pytest.mark.parametrize(
    ("param", "inputs"),
    [
        ("inputs.source_sentence", {"source_sentence": "", "sentences": ["a"]}),
        ("inputs.sentences[1]", {"source_sentence": "a", "sentences": ["a", ""]}),
        ("inputs.sentences", {"source_sentence": "a", "sentences": []}),
        ("inputs.sentences[1]", {"source_sentence": "a", "sentences": ["a", "ivy " * 500]}),
        ("inputs.source_sentence", {"source_sentence": "ivy " * 500, "sentences": ["a"]}),
    ],
)
async def test_a_text_of_a_comparison_that_is_wrong_is_named(gateway, param, inputs):
    answer = await gateway.post("/similarity", inputs=inputs)
    assert (answer.status, answer.body["error"]["param"]) == (400, param)


async def test_tokens_are_those_of_the_tokenizer_with_their_places(gateway, tokenizer):
    text = "Wysteria climbs the trellis — naïvely 🌿"
    [found] = (await gateway.post("/tokenize", inputs=text)).body
    assert [each["id"] for each in found] == tokenizer.encode(text).ids
    assert [(each["text"], each["special"], each["start"]) for each in (found[0], found[-1])] == [
        ("[CLS]", True, None),
        ("[SEP]", True, None),
    ]
    assert all(each["text"] == text[each["start"] : each["stop"]] for each in found[1:-1])


async def test_tokens_without_special_ones_and_with_a_prompt(serve, engine, ids_of):
    gateway = await serve(engine, embedding=EmbeddingRules(prompts={"query": "query: "}))
    answer = await gateway.post("/tokenize", inputs=["a", "b"], add_special_tokens=False, prompt_name="query")
    assert [[each["id"] for each in text] for text in answer.body] == [
        ids_of("query: a")[1:-1],
        ids_of("query: b")[1:-1],
    ]
    assert (await gateway.post("/tokenize", inputs="a", prompt_name="x")).body["error"]["param"] == "prompt_name"


async def test_only_so_much_text_is_taken_apart_at_once(gateway):
    answer = await gateway.post("/tokenize", inputs=["a" * 200_000, "b" * 200_000])
    assert (answer.status, answer.body["error"]["param"]) == (400, "inputs")


async def test_ids_become_texts_again(gateway, ids_of):
    ids = ids_of("what is a trellis?")
    assert (await gateway.post("/decode", ids=ids)).body == ["what is a trellis?"]
    assert (await gateway.post("/decode", ids=[ids, ids[1:3]], skip_special_tokens=False)).body == [
        "[CLS] what is a trellis? [SEP]",
        "what is",
    ]
    whole = await gateway.post("/decode", ids=ids, skip_special_tokens=None)
    assert whole.body == ["what is a trellis?"]
    assert (await gateway.post("/decode", ids=["a"])).status == 400
    assert (await gateway.post("/decode", ids=[7] * 300_000)).body["error"]["param"] == "ids"


@pytest.mark.parametrize(
    ("ids", "param"),
    [
        ([5, 30522], "ids[1]"),
        ([[5], [6, 2**31 - 1]], "ids[1][1]"),
        ([-1], "ids[0]"),
        ([2**40], "ids[0]"),
    ],
)
async def test_an_id_that_is_no_token_has_no_text_and_is_named(gateway, ids, param):
    answer = await gateway.post("/decode", ids=ids)
    assert (answer.status, answer.body["error"]["param"]) == (400, param)
    assert "0 to 30521" in answer.body["error"]["message"]


async def test_null_is_the_default_here_too(gateway, engine):
    plain = (await gateway.post("/tokenize", inputs="a")).body
    assert (await gateway.post("/tokenize", inputs="a", add_special_tokens=None)).body == plain
    assert (await gateway.post("/embed", inputs="a", normalize=None)).status == 200
    assert engine.calls[-1].normalize is True


async def test_a_text_that_is_too_long_is_told_what_this_route_takes(gateway):
    message = (await gateway.post("/embed", inputs="ivy " * 500)).body["error"]["message"]
    assert message.endswith("shorten it, or ask for truncate true")


def test_no_cosine_is_past_one():
    rows = np.random.default_rng(3).standard_normal((500, 384)).astype(np.float32)
    found = [Similarity.COSINE.between(row, np.stack([row, -row])) for row in rows]
    assert max(each.max() for each in found) == 1
    assert min(each.min() for each in found) == -1


async def test_info_tells_the_limits(gateway):
    async with gateway.client.get(f"{gateway.url}/info") as response:
        found = await response.json()
    assert found["model_id"] == "minilm"
    assert found["model_type"] == {"embedding": {"pooling": "mean"}}
    assert (found["max_input_length"], found["max_batch_tokens"]) == (256, 4096)
    assert (found["model_dtype"], found["auto_truncate"]) == ("float32", False)


async def test_info_needs_an_engine(serve):
    gateway = await serve(ready=False)
    async with gateway.client.get(f"{gateway.url}/info") as response:
        assert response.status == 503


async def test_stages_and_counts_are_told_as_on_the_other_routes(gateway, engine):
    answer = await gateway.post("/embed", inputs=TEXTS)
    assert "forward;dur=1.500" in answer.headers["server-timing"]
    assert await gateway.metric('trellis_gateway_requests_total{route="/embed",status="200"}') == 1
    assert await gateway.metric("trellis_gateway_inputs_total") == 2
    engine.error = grpc.StatusCode.RESOURCE_EXHAUSTED
    assert (await gateway.post("/embed", inputs="a")).headers["retry-after"] == "1"


async def test_langchain_with_the_client_of_openai(gateway):
    made = OpenAIEmbeddings(
        model="minilm", base_url=f"{gateway.url}/v1", api_key="any", check_embedding_ctx_length=False
    )
    found = await made.aembed_documents(TEXTS)
    plain = await gateway.embed(input=TEXTS)
    np.testing.assert_allclose(found, [each["embedding"] for each in plain.body["data"]], rtol=1e-6)
    assert len(await asyncio.to_thread(made.embed_query, "a rose")) == 8
