"""Calls to a model that scores: what can be asked of its rows, and what its engine tells of it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification
from trellis_wire.v1 import embedding_pb2 as pb
from trellis_wire.v1.packing import pack_ids, unpack_rows
from tulip_rose.rose.card import ModelCard, Task
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.options import EngineOptions
from tulip_rose.sequence import OutputForm, Want
from tulip_rose.tulip.errors import BadCall
from tulip_rose.tulip.wire import sequences_of

DEADLINE_S = 30.0
PLAIN = ModelCard("ToyModel", "float32", "cpu", "none", 2, (), 8, 1000, "cls", False, "digest-1")
CARD = replace(PLAIN, task=Task.SCORE, labels=("no", "yes"))


def request_of(**more: object) -> pb.EmbedRequest:
    token_ids, lengths = pack_ids([[1, 2, 3]])
    return pb.EmbedRequest(token_ids=token_ids, lengths=lengths, **{"vector_type": pb.VECTOR_TYPE_FLOAT32, **more})


def test_a_pair_becomes_one_row_of_all_labels_as_they_come() -> None:
    [sequence] = sequences_of(request_of(token_types=bytes([0, 0, 1])), CARD, 0.0, 1.0)
    assert sequence.wants == (Want(((0, 3),), OutputForm(2, normalize=False)),)
    assert sequence.token_types is not None
    assert sequence.token_types.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"normalize": True}, "normalize true cannot be given: scores"),
        ({"vector_type": pb.VECTOR_TYPE_INT8}, "vector_type int8 cannot be given: scores"),
        ({"vector_type": pb.VECTOR_TYPE_BINARY}, "vector_type binary cannot be given: scores"),
        ({"dimensions": 1}, "dimensions 1 cannot be given: this model gives 2"),
    ],
)
def test_what_is_for_vectors_alone_is_refused(more: dict[str, object], words: str) -> None:
    with pytest.raises(BadCall, match=words):
        sequences_of(request_of(**more), CARD, 0.0, 1.0)


@pytest.fixture
def classifier(tmp_path: Path) -> BertForSequenceClassification:
    """A small random classifier of three labels, saved in a folder of its own."""
    torch.manual_seed(3)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 48}
    names = {0: "contradiction", 1: "entailment", 2: "neutral"}
    config = BertConfig(vocab_size=60, max_position_embeddings=40, initializer_range=0.5, id2label=names, **sizes)
    model = BertForSequenceClassification(config).eval()
    model.save_pretrained(tmp_path / "classifier")
    return model


async def test_a_real_classifier_scores_pairs_over_the_wire(
    serving, tmp_path: Path, classifier: BertForSequenceClassification
) -> None:
    engine = Engine.load(tmp_path / "classifier", EngineOptions(device="cpu", threads=1))
    pairs = {
        (2, 9, 8, 3, 7, 3): (0, 0, 0, 0, 1, 1),
        (2, 9, 3, 3): (0, 0, 0, 1),
        (2, 5, 6, 3, 9, 3): (0,) * 4 + (1,) * 2,
    }
    token_ids, lengths = pack_ids([list(ids) for ids in pairs])
    types = bytes(each for own in pairs.values() for each in own)
    request = pb.EmbedRequest(
        token_ids=token_ids, lengths=lengths, token_types=types, vector_type=pb.VECTOR_TYPE_FLOAT32
    )
    async with serving(engine=engine) as served:
        info = await served.stub.Info(pb.InfoRequest(), timeout=DEADLINE_S)
        response = await served.stub.Embed(request, timeout=DEADLINE_S)
    assert (info.task, list(info.labels)) == ("score", ["contradiction", "entailment", "neutral"])
    assert (info.dimensions, list(info.outputs), info.normalize, info.max_input_tokens) == (3, ["dense"], False, 40)
    found = unpack_rows(response.rows, len(pairs), response.vector_type, response.dimensions)
    with torch.inference_mode():
        logits = [
            classifier(*(torch.tensor([each]) for each in (ids, [1] * len(ids), own))) for ids, own in pairs.items()
        ]
    assert np.abs(found - torch.cat([each.logits for each in logits]).numpy()).max() <= 1e-4
