import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.errors import LoadError
from tulip_rose.rose.options import EngineOptions

QUERY = "encoder.layer.1.attention.self.query.weight"


def tensors(folder: Path, change: Callable[[dict[str, torch.Tensor]], None]) -> None:
    path = folder / "model.safetensors"
    found = load_file(path)
    change(found)
    save_file(found, path)


def refuse(folder: Path, match: str, **options: Any) -> None:
    with pytest.raises(LoadError, match=match) as raised:
        Engine.load(folder, EngineOptions(device="cpu", threads=1, **options))
    assert "\n" not in str(raised.value)


def test_a_missing_tensor_stops_the_load_with_its_name(tiny: Path) -> None:
    tensors(tiny, lambda found: found.pop(QUERY))
    refuse(tiny, f"tensor {QUERY} is missing")


def test_an_extra_tensor_stops_the_load_with_its_name(tiny: Path) -> None:
    tensors(tiny, lambda found: found.update({"encoder.layer.3.output.dense.bias": torch.zeros(32)}))
    refuse(tiny, r"model.safetensors: tensor encoder.layer.3.output.dense.bias is not part")


def test_a_misshapen_tensor_stops_the_load_with_both_shapes(tiny: Path) -> None:
    tensors(tiny, lambda found: found.update({QUERY: torch.zeros(32, 16)}))
    refuse(tiny, rf"tensor {QUERY} has shape \[32, 16\], config.json asks for \[32, 32\]")


def test_a_transposed_weight_stops_the_load(tiny: Path) -> None:
    name = "encoder.layer.0.intermediate.dense.weight"
    tensors(tiny, lambda found: found.update({name: found[name].T.contiguous()}))
    refuse(tiny, rf"tensor {name} has shape \[32, 48\]")


def test_a_tensor_of_whole_numbers_stops_the_load(tiny: Path) -> None:
    tensors(tiny, lambda found: found.update({QUERY: torch.zeros(32, 32, dtype=torch.int32)}))
    refuse(tiny, rf"tensor {QUERY} is I32, expected one of BF16, F16, F32")


def test_weights_that_give_no_number_stop_the_load(tiny: Path) -> None:
    name = "encoder.layer.1.output.dense.bias"
    tensors(tiny, lambda found: found.update({name: torch.full((32,), float("nan"))}))
    refuse(tiny, rf"model.safetensors: tensor {name} holds a value that is not finite in float32")


def test_a_file_that_is_cut_short_is_refused_by_name(tiny: Path) -> None:
    path = tiny / "model.safetensors"
    path.write_bytes(path.read_bytes()[:1000])
    refuse(tiny, "model.safetensors: not readable as safetensors")


def test_pickled_weights_are_never_read(tiny: Path) -> None:
    (tiny / "model.safetensors").rename(tiny / "pytorch_model.bin")
    refuse(tiny, "no model.safetensors; other formats")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    refuse(tmp_path / "nowhere", "nowhere: no such folder")


def test_an_unknown_architecture_is_refused_with_those_known(tiny: Path, edit: Callable[..., None]) -> None:
    edit(tiny / "config.json", architectures=["LlamaModel"])
    refuse(tiny, "architecture 'LlamaModel' is not known; known are BertForMaskedLM, ")


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("hidden_size", "wide", "config.json: hidden_size is 'wide'"),
        ("num_hidden_layers", 0, "num_hidden_layers is 0"),
        ("num_attention_heads", 5, "num_attention_heads 5 does not divide hidden_size 32"),
        ("hidden_act", "mish", "hidden_act 'mish' is not supported; known are 'gelu'"),
        ("position_embedding_type", "relative_key", "position_embedding_type 'relative_key' is not supported"),
        ("is_decoder", True, "is_decoder True is not supported"),
        ("layer_norm_eps", "small", "layer_norm_eps is 'small'"),
    ],
)
def test_a_config_that_cannot_be_served_is_refused_with_its_key(
    tiny: Path, edit: Callable[..., None], key: str, value: Any, match: str
) -> None:
    edit(tiny / "config.json", **{key: value})
    refuse(tiny, match)


def test_a_config_that_is_not_json_is_named(tiny: Path) -> None:
    (tiny / "config.json").write_text("{")
    refuse(tiny, "config.json: not readable as JSON")


def test_a_folder_that_does_not_say_how_to_pool_needs_to_be_told(tiny: Path) -> None:
    (tiny / "modules.json").unlink()
    refuse(tiny, "set spec.embedding.pooling to one of cls, mean, lastToken")
    card = Engine.load(tiny, EngineOptions(pooling="cls")).card
    assert (card.pooling, card.normalize) == ("cls", False)


def test_the_card_tells_what_the_folder_says(tiny: Path, edit: Callable[..., None]) -> None:
    edit(tiny / "config.json", matryoshka_dimensions=[32, 16, 8])
    card = Engine.load(tiny).card
    assert (card.architecture, card.pooling, card.normalize) == ("BertModel", "mean", True)
    assert (card.dimensions, card.allowed_dimensions) == (32, (8, 16))
    assert (card.max_input_tokens, card.vocabulary_size) == (64, 60)


def test_what_the_caller_says_wins_over_the_folder(tiny: Path) -> None:
    options = EngineOptions(pooling="lastToken", normalize=False, allowed_dimensions=(4,), max_input_tokens=70)
    card = Engine.load(tiny, options).card
    assert (card.pooling, card.normalize, card.allowed_dimensions) == ("lastToken", False, (4,))
    assert card.max_input_tokens == 70


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"pooling": "median"}, "pooling 'median' is not known; known are cls, mean, lastToken, max"),
        ({"max_input_tokens": 71}, "maxInputTokens 71 is not between 1 and the 70 positions"),
        ({"allowed_dimensions": (64,)}, "64 is not between 1 and the 32 dimensions"),
        (
            {"dtype": "float16"},
            r"dtype 'float16' is not known; known are float32, bfloat16 \(float16 has too small a range",
        ),
        ({"attention_backend": "flashinferFa9"}, "attentionBackend 'flashinferFa9' is not known"),
    ],
)
def test_what_the_model_cannot_give_is_refused(tiny: Path, options: dict[str, Any], match: str) -> None:
    refuse(tiny, match, **options)


def test_a_limit_longer_than_the_positions_is_cut_to_them(tiny: Path, edit: Callable[..., None]) -> None:
    edit(tiny / "sentence_bert_config.json", max_seq_length=512)
    assert Engine.load(tiny).card.max_input_tokens == 70


def test_the_digest_follows_what_changes_vectors_and_nothing_else(tiny: Path, edit: Callable[..., None]) -> None:
    first = Engine.load(tiny).card.model_digest
    copy = shutil.copytree(tiny, tiny.parent / "copy")
    assert Engine.load(copy, EngineOptions(threads=1)).card.model_digest == first
    assert Engine.load(copy, EngineOptions(pooling="cls")).card.model_digest != first
    assert Engine.load(copy, EngineOptions(dtype="bfloat16")).card.model_digest != first
    edit(copy / "sentence_bert_config.json", max_seq_length=32)
    assert Engine.load(copy).card.model_digest != first
    assert Engine.load(copy, EngineOptions(model_digest="given")).card.model_digest == "given"


def test_shards_are_read_through_their_index(tiny: Path) -> None:
    whole = load_file(tiny / "model.safetensors")
    names = sorted(whole)
    shards = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for shard, own in shards.items():
        save_file({name: whole[name] for name in own}, tiny / shard)
    index = {"weight_map": {name: shard for shard, own in shards.items() for name in own}}
    (tiny / "model.safetensors.index.json").write_text(json.dumps(index))
    (tiny / "model.safetensors").unlink()
    assert Engine.load(tiny).card.dimensions == 32


def test_a_shard_outside_of_the_folder_is_refused(tiny: Path) -> None:
    (tiny / "model.safetensors").rename(tiny.parent / "model.safetensors")
    (tiny / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../model.safetensors"}}))
    refuse(tiny, "index.json: not an index of shards")


def test_names_of_a_wrapped_base_model_are_read(tiny: Path) -> None:
    path = tiny / "model.safetensors"
    save_file({f"bert.{name}": tensor for name, tensor in load_file(path).items()}, path)
    assert Engine.load(tiny).card.dimensions == 32
