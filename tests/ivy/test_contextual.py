"""`/v1/contextualizedembeddings`: the clients of Perplexity and Voyage, spans, separators, windows, refusals."""

import asyncio
import base64
import json
import shutil

import numpy as np
import perplexity
import pytest
import tokenizers
import voyageai
from ivy.embedding import DocumentWindows, EmbeddingRules
from ivy.errors import ConfigError
from ivy.model_files import facts_for
from trellis_wire.v1.packing import unpack_ids, unpack_spans

PATH = "/v1/contextualizedembeddings"
DOCUMENTS = [["A trellis is a frame.", "Ivy climbs it.", "So do roses."], ["Tulips do not."]]
LATE = EmbeddingRules(late_chunking=True)
CLS, SEP = 101, 102


@pytest.fixture(scope="module")
def body_of(minilm):
    """The ids of a text without special tokens."""
    inner = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    inner.no_padding()
    inner.no_truncation()
    return lambda text: inner.encode(text, add_special_tokens=False).ids


@pytest.fixture
async def late(serve, engine):
    """A gateway whose manifest allows late chunking."""
    return await serve(engine, embedding=LATE)


def sent(engine):
    found = []
    for call in engine.calls:
        sequences = unpack_ids(call.token_ids, call.lengths)
        spans = unpack_spans(call.spans, [len(ids) for ids in sequences])
        found += [(ids.tolist(), list(own)) for ids, own in zip(sequences, spans, strict=True)]
    return found


def vectors(answer):
    return [[each["embedding"] for each in document["data"]] for document in answer.body["data"]]


async def ask(gateway, **fields):
    return await gateway.post(PATH, model="minilm", **fields)


async def test_a_document_goes_in_one_pass_with_a_span_for_each_chunk(late, engine, body_of, vector_of):
    answer = await ask(late, inputs=DOCUMENTS)
    first = [body_of(chunk) for chunk in DOCUMENTS[0]]
    edges = np.cumsum([0, *map(len, first)]) + 1
    whole = [CLS, *(token for chunk in first for token in chunk), SEP]
    spans = [(0, edges[1]), (edges[1], edges[2]), (edges[2], edges[3] + 1)]
    alone = [CLS, *body_of(DOCUMENTS[1][0]), SEP]
    assert sent(engine) == [(whole, spans), (alone, [(0, len(alone))])]
    wanted = [[vector_of(whole[begin:end]) for begin, end in spans], [vector_of(alone)]]
    for found, expected in zip(vectors(answer), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert answer.body["usage"] == {"prompt_tokens": len(whole) + len(alone), "total_tokens": len(whole) + len(alone)}


async def test_the_answer_is_a_list_of_lists(late):
    body = (await ask(late, inputs=DOCUMENTS)).body
    assert list(body) == ["object", "data", "model", "usage"]
    assert [(each["object"], each["index"]) for each in body["data"]] == [("list", 0), ("list", 1)]
    assert [(each["object"], each["index"]) for each in body["data"][0]["data"]] == [("embedding", n) for n in range(3)]


async def test_a_document_of_one_chunk_has_the_vector_of_its_text(late):
    alone = vectors(await ask(late, inputs=[["Ivy climbs it."]]))[0][0]
    assert alone == (await late.embed(input="Ivy climbs it.")).body["data"][0]["embedding"]


async def test_voyages_client(late, engine):
    def embed(**more):
        client = voyageai.Client(api_key="any", base_url=f"{late.url}/v1")
        return client.contextualized_embed(inputs=DOCUMENTS, model="minilm", input_type="document", **more)

    found = await asyncio.to_thread(embed)
    assert [len(each.embeddings) for each in found.results] == [3, 1]
    np.testing.assert_allclose(found.results[0].embeddings, vectors(await ask(late, inputs=DOCUMENTS))[0], rtol=1e-6)
    assert found.total_tokens == sum(len(ids) for ids, _ in sent(engine)) // 2
    small = await asyncio.to_thread(embed, output_dtype="uint8", output_dimension=4)
    assert np.shape(small.results[0].embeddings) == (3, 4)
    signs = await asyncio.to_thread(embed, output_dtype="binary")
    assert np.shape(signs.results[0].embeddings) == (3, 1)


async def test_voyages_client_for_texts_alone(gateway, engine):
    def embed(**more):
        client = voyageai.Client(api_key="any", base_url=f"{gateway.url}/v1")
        return client.embed(["ivy " * 400, "a rose"], model="minilm", input_type="document", **more).embeddings

    assert np.shape(await asyncio.to_thread(embed, output_dimension=4)) == (2, 4)
    assert np.array(await asyncio.to_thread(embed, output_dtype="ubinary")).max() > 1
    with pytest.raises(voyageai.error.APIError, match="context_length_exceeded"):
        await asyncio.to_thread(embed, truncation=False)


async def test_perplexitys_client(serve, engine):
    name = "pplx-embed-context-v1-0.6b"
    late = await serve(engine, embedding=LATE, served_names=("minilm", name))

    def embed(**more):
        with perplexity.Perplexity(api_key="any", base_url=late.url) as client:
            return client.contextualized_embeddings.create(input=DOCUMENTS, model=name, **more)

    found = await asyncio.to_thread(embed)
    floats = np.array(vectors(await ask(late, inputs=DOCUMENTS))[0], np.float32)
    int8 = [np.frombuffer(base64.b64decode(each.embedding), np.int8) for each in found.data[0].data]
    np.testing.assert_array_equal(int8, np.round(127 * np.tanh(floats)).astype(np.int8))
    assert [document.index for document in found.data] == [0, 1]
    bits = await asyncio.to_thread(embed, encoding_format="base64_binary")
    packed = np.frombuffer(base64.b64decode(bits.data[0].data[0].embedding), np.uint8)
    np.testing.assert_array_equal(packed, np.packbits(floats[0] >= 0, bitorder="little"))
    assert found.usage.prompt_tokens > 0


async def test_a_document_that_is_too_long_is_seen_in_windows_that_share_tokens(serve, engine, body_of, vector_of):
    rules = EmbeddingRules(late_chunking=True, document_windows=DocumentWindows(tokens=32, overlap_tokens=8))
    gateway = await serve(engine, embedding=rules)
    document = [" ".join(f"word{chunk}{number}" for number in range(9)) for chunk in range(5)]
    answer = await ask(gateway, inputs=[document])
    assert len(vectors(answer)[0]) == 5
    sequences = sent(engine)
    assert len(sequences) > 1
    assert all(len(ids) == 32 for ids, _ in sequences)
    pooled = [ids[begin:end] for ids, spans in sequences for begin, end in spans]
    everything = [CLS, *(token for chunk in document for token in body_of(chunk)), SEP]
    assert [token for part in pooled for token in part] == everything


async def test_a_chunk_in_several_windows_is_averaged_by_tokens(serve, engine, vector_of):
    rules = EmbeddingRules(late_chunking=True, document_windows=DocumentWindows(tokens=32, overlap_tokens=0))
    gateway = await serve(engine, embedding=rules)
    [[found], [other]] = vectors(await ask(gateway, inputs=[["ivy " * 60], ["rose"]]))
    (first, [own]), (second, [rest]) = sent(engine)[:2]
    parts = [first[slice(*own)], second[slice(*rest)]]
    mean = sum(len(part) * vector_of(part) for part in parts) / sum(map(len, parts))
    np.testing.assert_allclose(found, mean / np.linalg.norm(mean), rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(other), 1, rtol=1e-5)


async def test_a_prompt_stands_once_before_the_document(serve, engine, body_of):
    rules = EmbeddingRules(late_chunking=True, prompts={"document": "passage: "})
    gateway = await serve(engine, embedding=rules)
    await ask(gateway, inputs=[["one", "two"]], input_type="document")
    prompt = body_of("passage: ")
    [(ids, spans)] = sent(engine)
    assert ids == [CLS, *prompt, *body_of("one"), *body_of("two"), SEP]
    assert spans[0] == (0, len(prompt) + 2)


@pytest.mark.parametrize(
    "more", [{"truncate": "none"}, {"truncate": "NONE"}, {"truncate": False}, {"truncation": False}]
)
async def test_a_document_that_may_not_be_split_is_refused_by_name(serve, engine, more):
    rules = EmbeddingRules(late_chunking=True, document_windows=DocumentWindows(tokens=42))
    gateway = await serve(engine, embedding=rules)
    assert (await ask(gateway, inputs=[["ivy " * 20, "rose " * 20]], **more)).status == 200
    assert len(sent(engine)) == 1
    answer = await ask(gateway, input=[["one"], ["ivy " * 20, "rose " * 21]], **more)
    error = answer.body["error"]
    assert (answer.status, error["param"], error["code"]) == (400, "input[1]", "context_length_exceeded")
    assert "42 tokens are read at once, this document has 43" in error["message"]


async def test_a_document_longer_than_the_model_is_refused_where_it_may_not_be_split(late, engine):
    answer = await ask(late, inputs=[["one"], ["ivy " * 300]], truncate="none")
    assert (answer.status, answer.body["error"]["param"]) == (400, "inputs[1]")
    assert engine.calls == []


@pytest.mark.parametrize("more", [{}, {"truncate": None}, {"truncate": "chunk"}, {"truncation": None}])
async def test_a_long_document_is_read_in_windows_where_nobody_says_otherwise(late, engine, more):
    assert (await ask(late, inputs=[["ivy " * 300]], **more)).status == 200
    assert len(sent(engine)) == 2


@pytest.mark.parametrize(
    "more", [{"truncate": "end"}, {"truncate": "start"}, {"truncate": True}, {"truncation": True}], ids=str
)
async def test_a_cut_of_documents_is_refused_with_a_sentence(late, more):
    answer = await ask(late, inputs=[["one"]], **more)
    assert (answer.status, answer.body["error"]["param"]) == (400, next(iter(more)))
    assert "documents are not cut here" in answer.body["error"]["message"]


REFUSED = {
    "truncate": ({"inputs": [["a"]], "truncate": "middle"},),
    "inputs": ({"inputs": []}, {"input": [["a"]], "inputs": [["a"]]}, {}),
    "inputs[1]": ({"inputs": [["a"], []]},),
    "inputs[1][1]": ({"inputs": [["a"], ["b", ""]]}, {"inputs": [["a"], ["b", " "]]}),
    "input[0][0]": ({"input": [[""]]},),
    "enable_auto_chunking": ({"inputs": [["a"]], "enable_auto_chunking": True},),
    "output_dimension": (
        {"inputs": [["a"]], "output_dimension": 3},
        {"inputs": [["a"]], "dimensions": 4, "output_dimension": 4},
    ),
    "dimensions": ({"inputs": [["a"]], "dimensions": 3},),
    "model": ({"inputs": [["a"]], "model": "gpt"},),
    "input_type": ({"inputs": [["a"]], "input_type": "haiku"},),
}


@pytest.mark.parametrize(("param", "fields"), [(param, each) for param, some in REFUSED.items() for each in some])
async def test_what_is_wrong_is_named(late, param, fields):
    answer = await late.post(PATH, **{"model": "minilm", **fields})
    assert answer.status in (400, 404)
    assert answer.body["error"]["param"] == param, answer.body


async def test_a_flat_list_is_no_list_of_documents(late):
    assert (await ask(late, inputs=["a", "b"])).status == 400


async def test_more_chunks_than_inputs_are_allowed_are_refused(serve, engine):
    gateway = await serve(engine, embedding=LATE, max_inputs=3)
    assert (await ask(gateway, inputs=DOCUMENTS)).body["error"]["code"] == "too_many_inputs"


async def test_documents_wait_in_the_same_queue_as_texts(serve, engine, until):
    gateway = await serve(engine, embedding=LATE, max_queued_tokens=20)
    engine.gate.clear()
    first = asyncio.create_task(ask(gateway, inputs=DOCUMENTS))
    await until(lambda: engine.waiting == 1)
    assert (await ask(gateway, inputs=DOCUMENTS)).body["error"]["code"] == "overloaded"
    engine.gate.set()
    assert (await first).status == 200
    assert await gateway.metric("trellis_gateway_in_flight_tokens") == 0
    assert await gateway.metric("trellis_gateway_inputs_total") == 4


async def test_a_model_that_is_not_allowed_to_do_this_says_so(gateway):
    answer = await ask(gateway, inputs=DOCUMENTS)
    assert answer.status == 400
    assert "lateChunking" in answer.body["error"]["message"]


async def test_a_model_that_does_not_pool_by_mean_says_so(serve, engine):
    engine.pooling = "cls"
    gateway = await serve(engine, embedding=LATE)
    answer = await ask(gateway, inputs=DOCUMENTS)
    assert answer.status == 400
    assert "cls" in answer.body["error"]["message"]


@pytest.fixture
def contextual(minilm, tmp_path):
    """The model, whose files say that it is made for documents, with `[SEP]` between chunks."""
    folder = tmp_path / "model"
    shutil.copytree(minilm, folder, ignore=shutil.ignore_patterns("*.safetensors", "*.onnx"))
    config = {"model_type": "bidirectional_pplx_qwen3", "auto_map": {"AutoModel": "modeling.PPLXQwen3ContextualModel"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text(json.dumps({"sep_token": {"content": "[SEP]"}}))
    return folder


async def test_a_contextual_model_needs_no_word_and_has_its_separator_between_chunks(
    serve, engine, contextual, body_of
):
    gateway = await serve(engine, model=contextual)
    assert (await ask(gateway, inputs=[["one", "two"]])).status == 200
    [(ids, spans)] = sent(engine)
    one, two = body_of("one"), body_of("two")
    assert ids == [CLS, *one, SEP, *two, SEP]
    assert spans == [(0, len(one) + 1), (len(one) + 2, len(ids))]


async def test_a_separator_that_the_tokenizer_does_not_know_stops_the_start(serve, engine, contextual):
    (contextual / "tokenizer_config.json").unlink()
    assert facts_for(contextual).separator == "<|endoftext|>"
    with pytest.raises(ConfigError, match="endoftext"):
        await serve(engine, model=contextual)
