"""Gateways of models that score, in front of engines whose values are made from the ids and the types of a pair."""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tokenizers
from ivy.prompts import Prompts
from ivy.scoring.readers import Names, SpecialTokens
from ivy.scoring.request import Cut
from ivy.tokenize.pool import TokenizerPool
from ivy.tokenize.tokenizer import Tokenizer
from ivy.tokenize.truncation import Truncation
from tokenizers import AddedToken, models, pre_tokenizers, processors
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import unpack_ids

LIMIT = 64
NAMES = Names("query[{}]".format, "documents[{}]".format)


def values_of(ids, types, labels: int = 1) -> np.ndarray:
    """What every fake engine says of a pair."""
    data = np.asarray(ids, dtype="<i4").tobytes() + b"|" + bytes(types)
    seed = int.from_bytes(hashlib.sha256(data).digest()[:8], "little")
    return (np.random.default_rng(seed).standard_normal(labels) * 3).astype(np.float32)


def sigmoid(value: float) -> float:
    return 1 / (1 + np.exp(-np.float64(value)))


@pytest.fixture
def scorer_folder(minilm: Path, tmp_path: Path):
    """Makes folders of classifiers with MiniLM's tokenizer; a field of config.json may be said."""

    def make(**config) -> Path:
        folder = tmp_path / "model"
        folder.mkdir(exist_ok=True)
        shutil.copy(minilm / "tokenizer.json", folder / "tokenizer.json")
        fields = {
            "architectures": ["BertForSequenceClassification"],
            "model_type": "bert",
            "type_vocab_size": 2,
            "id2label": {"0": "LABEL_0"},
            **config,
        }
        (folder / "config.json").write_text(json.dumps(fields))
        return folder

    return make


@pytest.fixture(name="ScoringEngine")
def scoring_engine_class(FakeEngine):
    @dataclass
    class ScoringEngine(FakeEngine):
        """Scores at once."""

        labels: tuple[str, ...] = ("LABEL_0",)
        limit: int = LIMIT

        def rows(self, request, output) -> pb.OutputRows:
            found, begin = [], 0
            for ids in unpack_ids(request.token_ids, request.lengths):
                types = request.token_types[begin : begin + len(ids)] or bytes(len(ids))
                found.append(values_of(ids, types, len(self.labels)))
                begin += len(ids)
            return pb.OutputRows(
                rows=np.stack(found).astype("<f4").tobytes(),
                dimensions=self.said_dimensions or len(self.labels),
                vector_type=output.vector_type,
                failed_rows=self.failed_rows,
            )

        async def Info(self, request, context):
            info = await super().Info(request, context)
            info.task = "score"
            info.labels.extend(self.labels)
            info.dimensions = len(self.labels)
            info.normalize = False
            info.max_input_tokens = self.limit
            del info.allowed_dimensions[:]
            return info

    return ScoringEngine


@pytest.fixture
async def scorer(ScoringEngine, scorer_folder, serve):
    """A gateway in front of one engine that gives one value a pair."""
    engine = await ScoringEngine().start()
    served = await serve(engine, model=scorer_folder(), served_names=("ranker",))
    yield SimpleNamespace(engine=engine, gateway=served.gateway, served=served, post=served.post, url=served.url)
    engine.gate.set()
    await engine.stop()


@pytest.fixture
async def labeller(ScoringEngine, scorer_folder, serve):
    """A gateway in front of one engine that gives three values a pair."""
    engine = await ScoringEngine(labels=("no", "maybe", "yes")).start()
    folder = scorer_folder(id2label={"0": "no", "1": "maybe", "2": "yes"})
    served = await serve(engine, model=folder, served_names=("labeller",))
    yield SimpleNamespace(engine=engine, served=served, post=served.post, url=served.url)
    await engine.stop()


@pytest.fixture(scope="session")
def library(minilm: Path) -> tokenizers.Tokenizer:
    inner = tokenizers.Tokenizer.from_file(str(minilm / "tokenizer.json"))
    inner.no_padding()
    return inner


@pytest.fixture
def reference(library):
    """The library's own ids and types of a text or a pair, cut by the library."""

    def encode(first: str, second: str | None = None, limit: int = LIMIT, direction: str = "right"):
        library.enable_truncation(limit, strategy="longest_first", direction=direction)
        encoding = library.encode(first, second)
        return encoding.ids, encoding.type_ids

    return encode


@pytest.fixture(name="values_of")
def values_of_fixture():
    return values_of


@pytest.fixture
def expected(reference):
    """The score that a pair must get, before and after the sigmoid."""

    def score(first: str, second: str, **more) -> tuple[float, float]:
        [value] = values_of(*reference(first, second, **more))
        return float(value), sigmoid(value)

    return score


@pytest.fixture(scope="session")
def unigram() -> tokenizers.Tokenizer:
    """A tokenizer of the kind that XLM-R has: pieces with a mark for spaces, `<s> a </s></s> b </s>`, no types."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁a", "▁the", "▁plant", "s", "a", "b", "c", "t", "climb", "▁climb"]
    inner = tokenizers.Tokenizer(models.Unigram([(piece, -float(place)) for place, piece in enumerate(pieces)], 3))
    inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    inner.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return inner


@pytest.fixture(scope="session")
def byte_level() -> tokenizers.Tokenizer:
    """A tokenizer of the kind that Qwen3 has: a token a byte, nothing around or between texts."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = tokenizers.Tokenizer(models.BPE({letter: place for place, letter in enumerate(alphabet)}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.post_processor = processors.ByteLevel(trim_offsets=False)
    inner.add_special_tokens([AddedToken("<|im_start|>", special=True), AddedToken("<|im_end|>", special=True)])
    return inner


@pytest.fixture
def read():
    """Reads pairs with a tokenizer's special tokens."""

    async def pairs_of(inner, pairs, limit, truncation=Truncation.END, *, with_types=True, document_tokens=None):
        pool = TokenizerPool(Tokenizer(inner), 1)
        reader = SpecialTokens(pool, pool.tokenizer.pair_template(), "", with_types=with_types)
        try:
            return await reader.read(pairs, Cut(limit, truncation, document_tokens), NAMES)
        finally:
            pool.close()

    return pairs_of


@pytest.fixture
def no_prompts() -> Prompts:
    return Prompts({})


@pytest.fixture(scope="session")
def names() -> Names:
    """What errors call the texts of pairs."""
    return NAMES
