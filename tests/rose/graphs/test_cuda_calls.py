"""The one file that calls `torch.cuda` calls it as the installed torch has it. A CPU build has its signatures too."""

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tulip_rose.rose import cuda as cuda_module
from tulip_rose.rose.cuda import Cuda, free_bytes, used_bytes

GPU = torch.device("cuda", 0)
POOL = (0, 3)
NAMES = ("current_device", "set_stream", "graph_pool_handle", "mem_get_info", "memory_reserved", "stream")
"""Functions that are bound as they are."""


class Calls:
    """Stands in for functions and classes of `torch.cuda`: binds each call to the real signature, and remembers it."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def of(self, name: str, real: Callable[..., Any], answer: Any = None, *, bound: bool = True) -> Any:
        takes = inspect.signature(real)
        if not bound:
            takes = takes.replace(parameters=[*takes.parameters.values()][1:])

        def call(*args: Any, **keywords: Any) -> Any:
            takes.bind(*args, **keywords)
            self.made.append(name)
            return answer

        return call


class StandIn:
    """An object whose methods are those of a class of torch."""

    def __init__(self, calls: Calls, real: type, *names: str) -> None:
        for name in names:
            setattr(self, name, calls.of(f"{real.__name__}.{name}", getattr(real, name), bound=False))


class Entered:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    calls, real = Calls(), torch.cuda
    answers = {"current_device": 0, "mem_get_info": (7, 9), "memory_reserved": 5, "stream": Entered()}
    for name in NAMES:
        function = calls.of(name, getattr(real, name), answers.get(name))
        monkeypatch.setattr(torch.cuda, name, function)
    for kind, names in {
        real.Stream: ("synchronize", "query"),
        real.Event: ("record", "query", "synchronize"),
        real.CUDAGraph: ("capture_begin", "capture_end", "replay"),
    }.items():
        made = calls.of(kind.__name__, kind.__new__, StandIn(calls, kind, *names), bound=False)
        monkeypatch.setattr(torch.cuda, kind.__name__, made)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    return calls


def test_every_call_has_the_signature_of_the_installed_torch(calls: Calls) -> None:
    cuda = Cuda()
    assert cuda.device == GPU
    stream = cuda.stream()
    cuda.use(stream)
    mark = cuda.mark(stream)
    mark.query()
    mark.synchronize()
    cuda.ask(stream)
    cuda.drain(stream)
    ran = list[int]()
    cuda.capture(stream, cuda.pool(), lambda: ran.append(1)).replay()
    assert ran == [1]
    assert (free_bytes(GPU), used_bytes(GPU)) == (7, 5)
    assert calls.made == [
        *("current_device", "Stream", "set_stream", "Event", "Event.record", "Event.query", "Event.synchronize"),
        *("Stream.query", "Stream.synchronize", "graph_pool_handle", "CUDAGraph", "stream", "CUDAGraph.capture_begin"),
        *("CUDAGraph.capture_end", "CUDAGraph.replay", "mem_get_info", "memory_reserved"),
    ]


def test_a_capture_is_ended_whatever_happens_in_it(calls: Calls) -> None:
    def fails() -> None:
        raise ValueError("in the step")

    with pytest.raises(ValueError, match="in the step"):
        Cuda().capture(None, None, fails)
    assert calls.made[-1] == "CUDAGraph.capture_end"


@pytest.mark.parametrize("left", [True, False], ids=["a pool that was left", "a pool that was not"])
def test_a_pool_is_left_once_and_given_back_where_it_was_not_left(
    calls: Calls, monkeypatch: pytest.MonkeyPatch, *, left: bool
) -> None:
    def end(device: int, mempool_id: tuple[int, int]) -> None:
        calls.made.append(f"end {mempool_id} of {device}")
        if left:
            raise RuntimeError("endAllocatePool: not currently recording to mempool_id")

    def release(device: int, mempool_id: tuple[int, int]) -> None:
        calls.made.append(f"release {mempool_id} of {device}")

    stubs = ast.parse((Path(torch.__file__).parent / "_C" / "__init__.pyi").read_text())
    takes = {each.name: [own.arg for own in each.args.args] for each in stubs.body if isinstance(each, ast.FunctionDef)}
    for name, ours in (("_cuda_endAllocateToPool", end), ("_cuda_releasePool", release)):
        assert takes[name] == list(inspect.signature(ours).parameters)
        monkeypatch.setattr(torch._C, name, ours)
    cuda = Cuda()
    calls.made.clear()
    assert cuda.leave(POOL) is not left
    assert calls.made == [f"end {POOL} of 0"] + ([] if left else [f"release {POOL} of 0"])


def test_every_name_of_torch_cuda_is_there() -> None:
    named = set(re.findall(r"torch\.cuda\.(\w+)", inspect.getsource(cuda_module)))
    assert named >= {"Stream", "Event", "CUDAGraph", "set_stream", "graph_pool_handle", "mem_get_info"}
    assert not [name for name in named if not hasattr(torch.cuda, name)]


def test_without_a_gpu_there_is_no_device() -> None:
    with pytest.raises(cuda_module.LoadError, match="torch finds none here"):
        Cuda()
