"""What the releases take, parameter by parameter: another release of which something changed is seen here first."""

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from backendkit.released import FLASH_SOURCE, LOOKS_AHEAD, PREFILL_SOURCE, found, node, signature, source
from tulip_rose.rose.backends.releases import FLASH_ATTENTION_4, FLASHINFER, Release

HERE = Path(__file__).parent
_WRAPPER = "BatchPrefillWithRaggedKVCacheWrapper"
_METHODS = ("__init__", "plan", "run", "reset_workspace_buffer")
FUNCTIONS = [
    (FLASH_ATTENTION_4, FLASH_SOURCE, "flash_attn_varlen_func"),
    *((FLASHINFER, PREFILL_SOURCE, f"{_WRAPPER}.{method}") for method in _METHODS),
]


def lines(release: Release, path: str, name: str) -> Iterator[str]:
    for parameter in signature(source(release, path), name).parameters.values():
        yield str(parameter)


@pytest.mark.parametrize(("release", "path", "name"), FUNCTIONS, ids=[each[2] for each in FUNCTIONS])
def test_the_parameters_of_the_release_are_those_on_record(release: Release, path: str, name: str) -> None:
    recorded = (HERE / "signatures" / f"{name}.txt").read_text().splitlines()
    read = found(release).version
    assert recorded[0] == f"{release.distribution} {release.tested if LOOKS_AHEAD else read}"
    assert list(lines(release, path, name)) == recorded[1:], f"{release.distribution} {read} takes something else"


@pytest.mark.skipif(LOOKS_AHEAD, reason="what is installed is not what is looked at")
def test_what_is_installed_is_what_calls_are_bound_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / FLASH_SOURCE
    package.parent.mkdir(parents=True)
    package.write_text("def flash_attn_varlen_func(q, k, *, v): ...\n")
    about = tmp_path / "flash_attn_4-4.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: flash-attn-4\nVersion: 4.1.0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert found(FLASH_ATTENTION_4).version == "4.1.0"
    assert list(lines(FLASH_ATTENTION_4, FLASH_SOURCE, "flash_attn_varlen_func")) == ["q", "k", "v"]


def test_in_graph_mode_planning_leaves_all_that_runs_read_in_memory_that_it_was_given() -> None:
    """What static wrappers build on: buffers of offsets are written and not replaced, and so is the layout."""
    text = source(FLASHINFER, PREFILL_SOURCE)
    planned = ast.unparse(node(text, f"{_WRAPPER}.plan"))
    assert "self._qo_indptr_buf.copy_(qo_indptr, non_blocking=non_blocking)" in planned
    assert "self._kv_indptr_buf.copy_(kv_indptr, non_blocking=non_blocking)" in planned
    assert "batch_size != self._fixed_batch_size" in planned
    assert "total_num_rows > self._max_total_num_rows" in planned
    assert "self._pin_memory_int_workspace_buffer, qo_indptr_host, kv_indptr_host" in planned
    reset = ast.unparse(node(text, f"{_WRAPPER}.reset_workspace_buffer"))
    assert "self._int_workspace_buffer = int_workspace_buffer" in reset


def test_the_names_that_are_imported_are_exported() -> None:
    assert "flash_attn_varlen_func," in source(FLASH_ATTENTION_4, "flash_attn/cute/__init__.py")
    assert f"{_WRAPPER} as {_WRAPPER}" in source(FLASHINFER, "flashinfer/__init__.py")


def test_torchs_operator_takes_what_it_took() -> None:
    schema = torch.ops.aten._flash_attention_forward.default._schema
    named = [(each.name, str(each.type), each.kwarg_only) for each in schema.arguments]
    assert named[:10] == [
        *((name, "Tensor", False) for name in ("query", "key", "value")),
        *((name, "Optional[Tensor]", False) for name in ("cum_seq_q", "cum_seq_k")),
        *((name, "int", False) for name in ("max_q", "max_k")),
        ("dropout_p", "float", False),
        *((name, "bool", False) for name in ("is_causal", "return_debug_mask")),
    ]
    assert {
        ("scale", "Optional[float]", True),
        ("window_size_left", "Optional[int]", True),
        ("window_size_right", "Optional[int]", True),
        ("seqused_k", "Optional[Tensor]", True),
    } <= set(named[10:])
    assert str(schema.returns[0].type) == "Tensor"


def test_what_is_installed_for_gpus_is_what_is_tested() -> None:
    project = tomllib.loads((HERE.parents[2] / "pyproject.toml").read_text())["project"]
    wanted = [each.split(";")[0].strip() for each in project["optional-dependencies"]["gpu"]]
    assert f"flash-attn-4=={FLASH_ATTENTION_4.tested}" in wanted
    assert f"flashinfer-python=={FLASHINFER.tested}" in wanted


def test_versions_are_compared_by_their_numbers() -> None:
    assert FLASHINFER.obstacle("0.7.1") is None
    assert FLASHINFER.obstacle("0.10.0") is None
    assert FLASHINFER.obstacle("0.7.0.post1") == "flashinfer-python 0.7.0.post1 is older than 0.7.1"
    assert FLASH_ATTENTION_4.obstacle(FLASH_ATTENTION_4.tested) is None
    assert FLASH_ATTENTION_4.obstacle(None) == "flash-attn-4 is not installed"
