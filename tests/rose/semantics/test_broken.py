"""Broken models: each is refused at its start with one line that names the file and the key."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from paritykit.folder import random_model
from paritykit.sentences import load
from safetensors.torch import load_file, save_file
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import LayerNorm, Pooling
from transformers import Qwen3Config, Qwen3Model
from tulip_rose.rose.errors import LoadError

HIDDEN = 32
WEIGHTS, TRANSFORMER = "model.safetensors", "sentence_bert_config.json"
OWN = "config_sentence_transformers.json"
UP, KEYS = "encoder.layer.0.intermediate.dense.weight", "encoder.layer.1.attention.self.key.weight"
WORDS = "embeddings.word_embeddings.weight"

Break = Callable[[Path], None]


def keys(file: str, **changes: Any) -> Break:
    """Change keys of a JSON file."""

    def broken(folder: Path) -> None:
        path = folder / file
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))

    return broken


def tensor(name: str, change: Callable[[torch.Tensor], torch.Tensor | None], file: str = WEIGHTS) -> Break:
    """Change a tensor, or take it away."""

    def broken(folder: Path) -> None:
        found = load_file(folder / file)
        changed = change(found.pop(name))
        save_file(found if changed is None else {**found, name: changed}, folder / file)

    return broken


def module(index: int, **changes: Any) -> Break:
    """Change an entry of modules.json."""

    def broken(folder: Path) -> None:
        path = folder / "modules.json"
        entries = json.loads(path.read_text())
        entries[index] |= changes
        path.write_text(json.dumps(entries))

    return broken


def swapped(folder: Path) -> None:
    path = folder / "modules.json"
    first, second, *rest = json.loads(path.read_text())
    path.write_text(json.dumps([second, first, *rest]))


def pickled(part: str) -> Break:
    """Weights as a pickle alone."""

    def broken(folder: Path) -> None:
        torch.save(load_file(folder / part / WEIGHTS), folder / part / "pytorch_model.bin")
        (folder / part / WEIGHTS).unlink()

    return broken


def other_tokenizer(folder: Path) -> None:
    path = folder / "tokenizer.json"
    value = json.loads(path.read_text())
    value["model"]["vocab"] |= {f"word{index}": 100 + index for index in range(50)}
    path.write_text(json.dumps(value))


def one(value: float) -> Callable[[torch.Tensor], torch.Tensor]:
    """Put one value into a tensor, not at its beginning."""

    def change(found: torch.Tensor) -> torch.Tensor:
        found.view(-1)[-3] = value
        return found

    return change


BROKEN: dict[str, tuple[Break, str, str]] = {
    "a tensor is missing": (tensor(KEYS, lambda _: None), WEIGHTS, f"tensor {KEYS} is missing"),
    "whole numbers": (tensor(KEYS, lambda found: found.int()), WEIGHTS, f"tensor {KEYS} is I32"),
    "doubles": (tensor(KEYS, lambda found: found.double()), WEIGHTS, f"tensor {KEYS} is F64"),
    "transposed": (tensor(UP, lambda found: found.T.contiguous()), WEIGHTS, f"tensor {UP} has shape [32, 48]"),
    "fewer words": (tensor(WORDS, lambda found: found[:-1].clone()), WEIGHTS, f"tensor {WORDS} has shape [38, 32]"),
    "not a number": (tensor(KEYS, one(torch.nan)), WEIGHTS, f"tensor {KEYS} holds a value that is not finite"),
    "infinite": (tensor(WORDS, one(torch.inf)), WEIGHTS, f"tensor {WORDS} holds a value that is not finite"),
    "pickle alone": (pickled("."), "saved", "(pytorch_model.bin) are not read"),
    "another tokenizer": (other_tokenizer, "tokenizer.json", "model.vocab has ids up to 149, config.json"),
    "heads that do not divide": (keys("config.json", num_attention_heads=5), "config.json", "num_attention_heads 5"),
    "more layers": (keys("config.json", num_hidden_layers=3), WEIGHTS, "tensor encoder.layer.2.attention.self.query"),
    "fewer layers": (keys("config.json", num_hidden_layers=1), WEIGHTS, "tensor encoder.layer.1."),
    "wider": (keys("config.json", hidden_size=64), WEIGHTS, f"tensor {WORDS} has shape [39, 32]"),
    "another vocabulary": (keys("config.json", vocab_size=50), WEIGHTS, f"tensor {WORDS} has shape [39, 32]"),
    "more positions": (keys("config.json", max_position_embeddings=99), WEIGHTS, "embeddings.position_embeddings"),
    "no architecture": (keys("config.json", architectures=["LlamaModel"]), "config.json", "'LlamaModel' is not known"),
    "pooling of another size": (
        keys("1_Pooling/config.json", embedding_dimension=48),
        "1_Pooling/config.json",
        "embedding_dimension is 48",
    ),
    "pooling that is not known": (
        keys("1_Pooling/config.json", pooling_mode="median"),
        "1_Pooling/config.json",
        "pooling_mode median",
    ),
    "pooling in a new way": (
        keys("1_Pooling/config.json", temperature=2),
        "1_Pooling/config.json",
        "temperature is not known",
    ),
    "a prompt flag that is a word": (
        keys("1_Pooling/config.json", include_prompt="no"),
        "1_Pooling/config.json",
        "include_prompt 'no'",
    ),
    "dense of another size": (keys("2_Dense/config.json", in_features=48), "2_Dense/config.json", "in_features is 48"),
    "dense with a lie": (keys("2_Dense/config.json", out_features=48), f"2_Dense/{WEIGHTS}", "tensor linear.weight"),
    "dense without its bias": (keys("2_Dense/config.json", bias=False), f"2_Dense/{WEIGHTS}", "tensor linear.bias"),
    "dense with code": (
        keys("2_Dense/config.json", activation_function="os.system"),
        "2_Dense/config.json",
        "activation_function 'os.system'",
    ),
    "dense in a new way": (keys("2_Dense/config.json", rank=4), "2_Dense/config.json", "rank is not known"),
    "dense of tokens": (
        keys("2_Dense/config.json", module_input_name="token_embeddings"),
        "2_Dense/config.json",
        "module_input_name 'token_embeddings'",
    ),
    "dense pickled": (pickled("2_Dense"), "2_Dense", "(pytorch_model.bin) are not read"),
    "dense not a number": (
        tensor("linear.bias", one(torch.nan), f"2_Dense/{WEIGHTS}"),
        f"2_Dense/{WEIGHTS}",
        "tensor linear.bias holds",
    ),
    "norm of another size": (
        keys("3_LayerNorm/config.json", dimension=25),
        "3_LayerNorm/config.json",
        "dimension is 25",
    ),
    "norm of tokens": (
        keys("4_Normalize/config.json", module_input_name="token_embeddings"),
        "4_Normalize/config.json",
        "module_input_name 'token_embeddings'",
    ),
    "a module of somebody": (module(2, type="custom_st.Dense"), "modules.json", "module custom_st.Dense is not known"),
    "a module that is not known": (
        module(2, type="sentence_transformers.models.CNN"),
        "modules.json",
        "module CNN is not known",
    ),
    "a module outside": (module(2, path="../2_Dense"), "modules.json", "path '../2_Dense' lies outside"),
    "a module without a type": (module(2, type=None), "modules.json", "a type"),
    "a module in a new way": (module(2, scale=2), "modules.json", "scale is not known"),
    "a module with arguments": (module(0, kwargs=["task"]), "modules.json", "kwargs ['task']"),
    "a model in a new way": (keys(OWN, whiten=True), OWN, "whiten is not known"),
    "fewer terms": (keys(OWN, max_active_dims=64), OWN, "max_active_dims 64"),
    "terms that no module makes": (keys(OWN, model_type="SparseEncoder"), OWN, "model_type 'SparseEncoder'"),
    "scores that no module makes": (keys(OWN, model_type="CrossEncoder"), OWN, "model_type 'CrossEncoder'"),
    "modules in another order": (swapped, "modules.json", "modules come as Transformer, Pooling"),
    "a length of a word": (keys(TRANSFORMER, max_seq_length="long"), TRANSFORMER, "max_seq_length 'long'"),
    "no length at all": (keys("tokenizer_config.json", model_max_length=0), "tokenizer_config.json", "length 0"),
    "another task": (keys(TRANSFORMER, transformer_task="fill-mask"), TRANSFORMER, "transformer_task 'fill-mask'"),
    "lengths by task": (keys(TRANSFORMER, query_length=32), TRANSFORMER, "query_length 32"),
    "code of somebody": (
        keys(TRANSFORMER, model_args={"custom": True}),
        TRANSFORMER,
        "model_args.custom is not understood",
    ),
    "a size above all": (
        keys("config_sentence_transformers.json", truncate_dim=48),
        "config_sentence_transformers.json",
        "truncate_dim 48",
    ),
    "sizes above all": (keys("config.json", matryoshka_dimensions=[8, 48]), "config.json", "matryoshka_dimensions 48"),
}


@pytest.fixture
def whole(save: Any) -> Path:
    """A model with a module of each kind."""
    _, folder = save([Pooling(HIDDEN), Dense(HIDDEN, 24), LayerNorm(24), Normalize()])
    assert load(folder).card.dimensions == 24
    return folder


def refused(folder: Path, file: str, key: str, **options: Any) -> None:
    with pytest.raises(LoadError) as raised:
        load(folder, **options)
    line = str(raised.value)
    assert "\n" not in line
    assert f"{file}: " in line
    assert key in line


@pytest.mark.parametrize(("breaks", "file", "key"), BROKEN.values(), ids=list(BROKEN))
def test_a_broken_model_is_refused_with_the_file_and_the_key(whole: Path, breaks: Break, file: str, key: str) -> None:
    breaks(whole)
    refused(whole, file, key)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"num_attention_heads": 2}, "layers.0.self_attn.q_proj.weight has shape [128, 64], config.json asks"),
        ({"num_key_value_heads": 4}, "layers.0.self_attn.k_proj.weight has shape [64, 64], config.json asks"),
        ({"head_dim": 64}, "layers.0.self_attn.q_norm.weight has shape [32], config.json asks"),
    ],
)
def test_a_config_that_lies_about_heads_is_refused(tmp_path: Path, changes: dict[str, int], key: str) -> None:
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1, "vocab_size": 40}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32}
    random_model(Qwen3Model, Qwen3Config(**sizes, **heads)).save_pretrained(tmp_path)
    assert load(tmp_path, pooling="mean").card.dimensions == 64
    keys("config.json", **changes)(tmp_path)
    refused(tmp_path, WEIGHTS, key, pooling="mean")


def test_a_value_that_only_bfloat16_does_not_hold_is_refused_in_bfloat16_alone(whole: Path) -> None:
    tensor(KEYS, one(3.4e38))(whole)
    load(whole)
    refused(whole, WEIGHTS, f"tensor {KEYS} holds a value that is not finite in bfloat16", dtype="bfloat16")


@pytest.mark.processes
def test_the_program_ends_with_that_line_and_no_traceback(whole: Path) -> None:
    tensor(KEYS, lambda _: None)(whole)
    flags = ["--model", str(whole), "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--device", "cpu"]
    program = [sys.executable, "-m", "tulip_rose", "serve", *flags]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert f"{whole / WEIGHTS}: tensor {KEYS} is missing" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
