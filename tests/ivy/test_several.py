"""Weights of terms and vectors of tokens over HTTP, from an engine that makes them of the ids."""

import json

import numpy as np
import pytest
import tokenizers
from ivy import several
from ivy.api.request import Form
from ivy.client.card import Card
from ivy.vectors import VectorKind
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import pack_spans, row_bytes, unpack_ids, unpack_spans
from trellis_wire.v1.terms import TermRow, pack_terms, terms_bytes

TEXTS = ["What is a trellis?", "A frame, that plants climb."]
SPARSE, TOKENS = pb.OUTPUT_KIND_SPARSE, pb.OUTPUT_KIND_TOKENS


def term_row(ids, most):
    """The weight of a term is its id over a thousand; the heaviest are kept."""
    terms = np.sort(np.unique(ids))[-most:]
    return TermRow(terms.astype(np.int32), (terms / 1000).astype(np.float32))


@pytest.fixture
async def engine_of(FakeEngine):
    """An engine that gives these kinds of rows."""

    class Engine(FakeEngine):
        outputs = ("dense", "sparse", "tokens")
        max_terms = 64

        def rows(self, request, output):
            ids = unpack_ids(request.token_ids, request.lengths)
            if output.kind == SPARSE:
                rows = pack_terms([term_row(own, output.dimensions or self.max_terms) for own in ids])
                return pb.OutputRows(rows=rows, vector_type=output.vector_type, failed_rows=self.failed_rows)
            if output.kind == TOKENS:
                spans = unpack_spans(output.spans, [own.size for own in ids])
                rows = [[own[begin], begin] for own, found in zip(ids, spans, strict=True) for begin, _ in found]
                return pb.OutputRows(rows=np.array(rows, "<f4").tobytes(), vector_type=output.vector_type, dimensions=2)
            return super().rows(request, output)

        async def Info(self, request, context):
            info = await super().Info(request, context)
            info.outputs.extend(self.outputs)
            info.token_dimensions, info.max_terms = 2, self.max_terms
            return info

    async def start(*outputs):
        made = Engine()
        made.outputs = outputs or Engine.outputs
        started.append(await made.start())
        return made

    started = []
    yield start
    for each in started:
        each.gate.set()
        await each.stop()


@pytest.fixture(scope="module")
def ids_of(minilm):
    inner = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    inner.no_padding()
    inner.no_truncation()
    return lambda text: inner.encode(text).ids


def sparse_of(row):
    return {"indices": row.terms.tolist(), "values": pytest.approx(row.weights.tolist())}


async def test_all_kinds_of_rows_come_of_one_pass(engine_of, serve, ids_of, vector_of):
    engine = await engine_of()
    served = await serve(engine)
    answer = await served.post("/v2/embed", model="minilm", texts=TEXTS, embedding_types=["float", "sparse", "tokens"])
    found, ids = answer.body["embeddings"], [ids_of(text) for text in TEXTS]
    np.testing.assert_array_equal(np.array(found["float"], np.float32), [vector_of(own) for own in ids])
    assert found["sparse"] == [sparse_of(term_row(own, 64)) for own in ids]
    assert found["tokens"] == [[[token, place] for place, token in enumerate(own)] for own in ids]
    [call] = engine.calls
    assert [call.kind, *(each.kind for each in call.also)] == [pb.OUTPUT_KIND_DENSE, SPARSE, TOKENS]
    assert answer.body["meta"]["billed_units"]["input_tokens"] == sum(map(len, ids))


async def test_sparse_rows_alone_ask_for_no_vectors(engine_of, serve, ids_of):
    engine = await engine_of("sparse")
    served = await serve(engine)
    answer = await served.post("/v2/embed", model="minilm", texts=TEXTS, embedding_types=["sparse"], max_terms=2)
    assert answer.body["embeddings"]["sparse"] == [sparse_of(term_row(ids_of(text), 2)) for text in TEXTS]
    [call] = engine.calls
    assert (call.kind, call.dimensions, list(call.also)) == (SPARSE, 2, [])


async def test_text_embeddings_inference_gets_pairs_and_lists_of_vectors(engine_of, serve, ids_of):
    served = await serve(await engine_of())
    pairs = (await served.post("/embed_sparse", inputs=TEXTS, max_terms=3)).body
    rows = [term_row(ids_of(text), 3) for text in TEXTS]
    assert [[pair["index"] for pair in own] for own in pairs] == [row.terms.tolist() for row in rows]
    assert pairs[0][0]["value"] == pytest.approx(float(rows[0].weights[0]))
    tokens = (await served.post("/embed_all", inputs=TEXTS[0])).body
    assert tokens == [[[token, place] for place, token in enumerate(ids_of(TEXTS[0]))]]


async def test_rows_of_many_calls_come_in_the_order_of_the_inputs(engine_of, serve, ids_of):
    engine = await engine_of()
    engine.max_batch_tokens = 16
    served = await serve(engine)
    texts = [" ".join(["plant"] * count) for count in range(1, 20)]
    types = ["sparse", "tokens", "int8"]
    found = (await served.post("/v2/embed", model="minilm", texts=texts, embedding_types=types)).body["embeddings"]
    assert [len(rows) for rows in found["tokens"]] == [len(ids_of(text)) for text in texts]
    assert found["sparse"] == [sparse_of(term_row(ids_of(text), 64)) for text in texts]
    assert len(found["int8"]) == len(texts)
    assert len(engine.calls) > 5


@pytest.mark.parametrize(
    ("outputs", "types", "words"),
    [
        (("dense",), ["sparse"], "this model does not give weights of terms; it gives one vector a text"),
        (
            ("sparse",),
            ["float"],
            "does not give one vector a text; it gives weights of terms; ask /v2/embed with embedd",
        ),
        (("tokens",), ["float", "tokens"], 'it gives vectors of tokens; ask /v2/embed with embedding_types ["tokens"]'),
    ],
)
async def test_rows_that_the_model_does_not_give_are_refused(engine_of, serve, outputs, types, words):
    engine = await engine_of(*outputs)
    served = await serve(engine)
    answer = await served.post("/v2/embed", model="minilm", texts=TEXTS, embedding_types=types)
    assert answer.status == 400
    assert words in answer.body["error"]["message"]
    assert not engine.calls


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"embedding_types": ["sparse"], "max_terms": 65}, "a row of this model has at most 64 terms"),
        ({"embedding_types": ["sparse"], "truncate": "CHUNK"}, "are of whole inputs: truncate chunk has windows"),
    ],
)
async def test_what_sparse_rows_cannot_be_is_refused(engine_of, serve, fields, words):
    served = await serve(await engine_of())
    answer = await served.post("/v2/embed", model="minilm", texts=["plant " * 300], **fields)
    assert answer.status == 400
    assert words in answer.body["error"]["message"]


@pytest.mark.parametrize(
    ("outputs", "fields", "words"),
    [
        (("dense",), {"embedding_types": ["float"], "max_terms": 5}, "this model gives one vector a text"),
        (("tokens",), {"embedding_types": ["tokens"], "max_terms": 5}, "gives vectors of tokens of 2 dimensions"),
        (("sparse",), {"embedding_types": ["sparse"], "output_dimension": 4}, "weights of terms, at most 64 a text"),
        (("tokens",), {"embedding_types": ["tokens"], "output_dimension": 4}, "vectors of tokens of 2 dimensions"),
    ],
)
async def test_a_bound_of_rows_that_the_model_does_not_give_is_told_what_it_gives(
    engine_of, serve, outputs, fields, words
):
    served = await serve(await engine_of(*outputs))
    answer = await served.post("/v2/embed", model="minilm", texts=TEXTS, **fields)
    assert answer.status == 400, answer.body
    assert answer.body["error"]["param"] == list(fields)[1]
    assert words in answer.body["error"]["message"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"model": "minilm", "input": "a"}),
        ("/embed", {"inputs": "a"}),
        ("/", {"inputs": "a"}),
        ("/similarity", {"inputs": {"source_sentence": "a", "sentences": ["b"]}}),
        ("/rerank", {"query": "a", "texts": ["b"]}),
        ("/score", {"text_1": "a", "text_2": "b"}),
        ("/predict", {"inputs": "a"}),
        ("/embed_all", {"inputs": "a"}),
    ],
)
async def test_a_model_of_weights_alone_advises_the_routes_that_it_serves(engine_of, serve, path, body):
    served = await serve(await engine_of("sparse"))
    answer = await served.post(path, **body)
    assert answer.status == 400
    message = answer.body["error"]["message"]
    assert message.endswith('ask /v2/embed with embedding_types ["sparse"], or /embed_sparse')
    assert "/v1/" not in message
    assert (await served.post("/embed_sparse", inputs="a")).status == 200


async def test_a_text_that_is_too_long_for_weights_is_not_sent_into_windows(engine_of, serve):
    served = await serve(await engine_of())
    body = {"model": "minilm", "texts": ["plant " * 300], "embedding_types": ["float", "sparse"], "truncate": "NONE"}
    message = (await served.post("/v2/embed", **body)).body["error"]["message"]
    assert message.endswith("ask for truncate 'end' or 'start'")


async def test_an_answer_of_too_many_values_is_refused(engine_of, serve, monkeypatch):
    monkeypatch.setattr(several, "MAX_VALUES", 20)
    engine = await engine_of()
    served = await serve(engine)
    tokens = await served.post("/v2/embed", model="minilm", texts=TEXTS, embedding_types=["tokens"])
    assert (tokens.status, len(engine.calls)) == (400, 0)
    assert "values of tokens' vectors, at most 20 are given" in tokens.body["error"]["message"]
    sparse = await served.post("/v2/embed", model="minilm", texts=TEXTS * 2, embedding_types=["sparse"])
    assert "weights of terms, at most 20 are given" in sparse.body["error"]["message"]
    few = await served.post("/v2/embed", model="minilm", texts=TEXTS * 2, embedding_types=["sparse"], max_terms=5)
    assert few.status == 200


async def test_a_row_that_failed_fails_the_request(engine_of, serve):
    engine = await engine_of()
    engine.failed_rows = (1,)
    served = await serve(engine)
    answer = await served.post("/v2/embed", model="minilm", texts=TEXTS, embedding_types=["sparse"])
    assert answer.status == 500


@pytest.mark.parametrize("kinds", [(), (VectorKind.FLOAT32,), (VectorKind.FLOAT32, VectorKind.INT8, VectorKind.BITS)])
@pytest.mark.parametrize(("sparse", "tokens"), [(True, False), (False, True), (True, True)])
def test_what_one_call_asks_for_fits_into_a_message(kinds, sparse, tokens):
    card = Card("digest", 4096, frozenset(), 8192, 250_002, 16384, 65536, token_dimensions=1024, max_terms=250_002)
    form = Form(kinds, sparse=sparse, tokens=tokens)
    most_rows, most_tokens = several.limits(form, card)
    row = sum(row_bytes(source, 4096) for source in several.sources_of(kinds)) + sparse * terms_bytes(250_002)
    assert most_rows * row + tokens * most_tokens * 4 * 1024 <= 60 * 2**20
    assert most_rows >= (8 if sparse else 1024)
    assert most_tokens >= 4096


class TestLate:
    """A model whose files say how queries and documents become tokens."""

    @pytest.fixture
    def colbert(self, minilm, tmp_path):
        """The tokenizer of MiniLM with the files of a multi-vector model around it."""

        def make(**own):
            (tmp_path / "tokenizer.json").write_bytes((minilm / "tokenizer.json").read_bytes())
            (tmp_path / "tokenizer_config.json").write_text(json.dumps({"mask_token": "[MASK]"}))
            says = {"model_type": "ColBERT", "query_prefix": "[unused0] ", "document_prefix": "[unused1] ", **own}
            (tmp_path / "config_sentence_transformers.json").write_text(json.dumps(says))
            return tmp_path

        return make

    async def ask(self, served, engine, text, **fields):
        answer = await served.post("/v2/embed", model="minilm", texts=[text], embedding_types=["tokens"], **fields)
        assert answer.status == 200, answer.body
        return [int(row[0]) for row in answer.body["embeddings"]["tokens"][0]], engine.calls[-1]

    @pytest.mark.parametrize("attend", [False, True])
    async def test_a_query_is_filled_up_with_masks(self, engine_of, serve, colbert, ids_of, attend):
        engine = await engine_of("tokens")
        model = colbert(query_length=16, attend_to_expansion_tokens=attend)
        served = await serve(engine, model=model)
        found, call = await self.ask(served, engine, "a plant, climbs", input_type="search_query")
        plain = ids_of("a plant, climbs")
        assert found == [plain[0], 1, *plain[1:], *[103] * (16 - len(plain) - 1)]
        assert call.unseen == (b"" if attend else np.array([16 - len(plain) - 1], "<i4").tobytes())

    async def test_a_long_query_is_cut_to_its_length(self, engine_of, serve, colbert):
        engine = await engine_of("tokens")
        served = await serve(engine, model=colbert(query_length=16))
        found, call = await self.ask(served, engine, "plant " * 40, input_type="query")
        assert (len(found), found[1], found[-1], call.unseen) == (16, 1, 102, b"")

    async def test_marks_of_a_document_have_no_vector(self, engine_of, serve, colbert, ids_of):
        engine = await engine_of("tokens")
        served = await serve(engine, model=colbert())
        found, call = await self.ask(served, engine, "a plant, climbs!", input_type="search_document")
        plain = ids_of("a plant climbs")
        assert found == [plain[0], 2, *plain[1:]]
        kept = [0, 1, 2, 3, 5, 7]
        assert call.spans == pack_spans([[(place, place + 1) for place in kept]])

    async def test_a_text_of_marks_alone_keeps_them(self, engine_of, serve, colbert):
        engine = await engine_of("tokens")
        (model := colbert(document_prefix="")).joinpath("tokenizer_config.json").write_text('{"mask_token": "[MASK]"}')
        served = await serve(engine, model=model)
        answer = await served.post("/embed_all", inputs=[[1010, 1012]])
        assert [row[0] for row in answer.body[0]] == [1010, 1012]
