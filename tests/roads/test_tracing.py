"""Traces of the real programs, as a collector gets them: one trace a request, from the HTTP call to the batch."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from roadkit import http
from roadkit.collector import Collector, Seen, collecting
from roadkit.faults import Faults
from roadkit.http import Answer
from roadkit.ports import free_ports
from roadkit.stack import KEY, Gateway, Stack, Starter
from roadkit.waiting import until

pytestmark = pytest.mark.processes

TEXT = "a-marker-of-a-text"
CALL = "trellis.v1.Embedding/Embed"
GATEWAY_STAGES = ["parse", "tokenize", CALL, "render"]
ENGINE_STAGES = ["queue", "launch", "forward", "settle"]
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"
_SPAN = "00f067aa0ba902b7"


@dataclass(frozen=True)
class Traced:
    """A gateway that traces all requests and asks for a key, and an engine that obeys `faults`."""

    collector: Collector
    stack: Stack
    faults: Faults

    def embed(self, *, parent: str | None = None, inputs: object = TEXT, key: str = KEY) -> Answer:
        return embed(self.stack.gateway, parent=parent, inputs=inputs, key=key)

    def whole(self, trace: str) -> list[Seen]:
        """The spans of a trace that ends in an answer of an engine, once all have come."""
        names = {*GATEWAY_STAGES, *ENGINE_STAGES, "embed", "POST /v1/embeddings"}
        until(lambda: names <= {each.name for each in self.collector.spans(trace=trace)}, f"trace {trace} is whole")
        return self.collector.spans(trace=trace)


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture(scope="module")
def traced(starter: Starter, collector: Collector, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traced]:
    folder = tmp_path_factory.mktemp("traced")
    (folder / "keys.txt").write_text(f"{KEY}\n", encoding="utf-8")
    faults = Faults(folder)
    to = ("--trace-endpoint", collector.endpoint)
    engine = starter.engine(*to, "--stuck-after-seconds", "600", code=faults.code, name="engine-traced")
    every = ("--trace-sample-percent", "100", "--api-keys-file", str(folder / "keys.txt"))
    stack = starter.stack(engine, flags=[*to, *every])
    yield Traced(collector, stack, faults)
    starter.stop(*stack.programs)


def embed(gateway: Gateway, *, parent: str | None = None, inputs: object = TEXT, key: str = KEY) -> Answer:
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    headers |= {"traceparent": parent} if parent is not None else {}
    body = json.dumps({"model": "minilm", "input": inputs}).encode()
    return http.request("POST", f"{gateway.url}/v1/embeddings", body, headers)


def parent_of(number: int, flags: str = "01") -> tuple[str, str]:
    """A trace's id, and the header of a caller in it."""
    trace = f"{number:032x}"
    return trace, f"00-{trace}-{_SPAN}-{flags}"


def test_a_request_is_one_trace_from_its_caller_to_the_stages_of_its_batch(traced: Traced) -> None:
    trace, header = parent_of(1)
    assert traced.embed(parent=header).status == 200
    spans = traced.whole(trace)
    by_name = {each.name: each for each in spans}
    assert len(spans) == len(by_name)
    root, call, served = by_name["POST /v1/embeddings"], by_name[CALL], by_name["embed"]
    assert (root.parent, root.service, root.kind) == (_SPAN, "trellis-gateway", "SERVER")
    assert {by_name[name].parent for name in GATEWAY_STAGES} == {root.id}
    assert (served.parent, served.service, served.kind) == (call.id, "trellis-engine", "SERVER")
    assert {by_name[name].parent for name in ENGINE_STAGES} == {served.id}
    assert root.attributes == {
        "http.request.method": "POST", "http.route": "/v1/embeddings", "http.response.status_code": 200,
        "trellis.inputs": 1, "trellis.tokens": served.attributes["trellis.tokens"],
    }  # fmt: skip


def test_the_stages_follow_each_other_inside_of_their_parents(traced: Traced) -> None:
    trace, header = parent_of(2)
    assert traced.embed(parent=header).status == 200
    by_name = {each.name: each for each in traced.whole(trace)}
    for names, parent in ((GATEWAY_STAGES, "POST /v1/embeddings"), (ENGINE_STAGES, "embed")):
        stages = [by_name[name] for name in names]
        times = [at for each in stages for at in (each.began_ns, each.ended_ns)]
        # Two readings of clocks lie a few microseconds apart.
        assert all(after - before > -1_000_000 for before, after in pairwise(times)), times
        assert by_name[parent].began_ns - 1_000_000 <= times[0]
        assert times[-1] <= by_name[parent].ended_ns + 1_000_000


def test_a_batch_is_linked_with_every_request_in_it(traced: Traced) -> None:
    ids = [parent_of(number) for number in (11, 12, 13)]
    waiting = traced.stack.engine.waiting_tokens
    with ThreadPoolExecutor() as pool:
        traced.faults.hold()
        try:
            first = pool.submit(traced.embed, parent=ids[0][1], inputs=[101, 102])
            until(lambda: traced.stack.engine.metric("in_flight_tokens") == 2, "the first is on the device")
            others = [pool.submit(traced.embed, parent=header, inputs=[101, 102]) for _, header in ids[1:]]
            until(lambda: waiting() == 6, "the others wait")
        finally:
            traced.faults.release()
        assert [each.result().status for each in (first, *others)] == [200] * 3
    served = [next(each for each in traced.whole(trace) if each.name == "embed").id for trace, _ in ids]
    forward = [next(each for each in traced.whole(trace) if each.name == "forward") for trace, _ in ids]
    until(lambda: {each.links[0] for each in forward} <= {each.id for each in batches(traced)}, "both batches came")
    [both] = [each for each in batches(traced) if served[1] in each.links]
    assert set(both.links) == set(served[1:])
    assert both.attributes == {"trellis.sequences": 2, "trellis.tokens": 4}
    assert [each.links for each in forward[1:]] == [(both.id,)] * 2
    assert both.parent == ""
    assert both.trace not in {trace for trace, _ in ids}


def batches(traced: Traced) -> list[Seen]:
    return traced.collector.spans(name="batch", service="trellis-engine")


def test_a_malformed_parent_is_as_none(traced: Traced) -> None:
    headers = [
        "", "no", f"00-{'0' * 32}-{_SPAN}-01", f"00-{'a' * 32}-{'0' * 16}-01", f"ff-{'a' * 32}-{_SPAN}-01",
        f"00-{'A' * 32}-{_SPAN}-01", f"00-{'a' * 32}-{_SPAN}-01-more", "x" * 4000,
    ]  # fmt: skip
    before = {each.id for each in roots(traced)}
    assert [traced.embed(parent=header).status for header in headers] == [200] * len(headers)
    until(lambda: len({each.id for each in roots(traced)} - before) == len(headers), "a trace of its own for each")
    made = {each.trace for each in roots(traced) if each.id not in before}
    assert len(made) == len(headers)
    assert not made & {"a" * 32, "0" * 32}
    for trace in made:
        traced.whole(trace)


def roots(traced: Traced) -> list[Seen]:
    return traced.collector.spans(name="POST /v1/embeddings", parent="")


def test_whom_neither_its_caller_nor_chance_samples_leaves_no_span(starter: Starter, traced: Traced) -> None:
    none = starter.gateway(
        [traced.stack.engine],
        *("--trace-endpoint", traced.collector.endpoint, "--trace-sample-percent", "0", "--log-level", "debug"),
    )
    before = {each.trace for each in traced.collector.spans()}
    out, header = parent_of(21, flags="00")
    last, sampled = parent_of(22)
    for parent in (header, None, sampled):
        assert embed(none, parent=parent).status == 200
    # Spans leave a program in their order: what was before the last one would have come before it.
    traced.whole(last)
    batch = {each.trace for each in batches(traced)}
    assert {each.trace for each in traced.collector.spans()} - before - batch == {last}
    starter.stop(none.program)
    log = none.program.log.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    assert [line.get("trace_id") for line in lines if line.get("route") == "/v1/embeddings"] == [out, None, last]


def test_failures_are_marked_and_said_in_no_words(traced: Traced) -> None:
    trace, header = parent_of(31)
    traced.faults.fail_next()
    assert traced.embed(parent=header).status == 500
    refused, wrong = parent_of(32)
    assert traced.embed(parent=wrong, inputs=[TEXT, ""]).status == 400
    assert traced.embed(parent=parent_of(33)[1], key="not-the-key").status == 401

    def both() -> bool:
        names = {each.name for each in traced.collector.spans(trace=trace)}
        return {"POST /v1/embeddings", "embed"} <= names and bool(traced.collector.spans(trace=refused, kind="SERVER"))

    until(both, "both came")
    failed = {each.name: each for each in traced.collector.spans(trace=trace) if each.failed}
    assert set(failed) == {"POST /v1/embeddings", CALL, "embed"}
    assert failed["embed"].attributes["rpc.response.status_code"] == "INTERNAL"
    [root] = [each for each in traced.collector.spans(trace=refused) if each.kind == "SERVER"]
    assert (root.attributes["http.response.status_code"], root.failed) == (400, False)
    assert not traced.collector.spans(trace=parent_of(33)[0])
    for secret in (TEXT, KEY, "not-the-key", "secret words"):
        assert secret.encode() not in traced.collector.raw


def test_an_exemplar_names_a_trace_to_whoever_asks_in_a_format_that_can(traced: Traced, stack: Stack) -> None:
    trace, header = parent_of(41)
    assert traced.embed(parent=header).status == 200
    traced.whole(trace)
    for url in (f"{traced.stack.url}/metrics", traced.stack.engine.metrics_url):
        shown = http.request("GET", url, headers={"accept": OPEN_METRICS}).body.decode()
        assert f'# {{trace_id="{trace}"}}' in shown
        assert shown.endswith("# EOF\n")
        assert "trace_id" not in http.get(url).body.decode()
    plain = http.request("GET", f"{stack.url}/metrics", headers={"accept": OPEN_METRICS})
    assert plain.headers["content-type"].startswith("text/plain")


def test_a_collector_that_is_away_costs_spans_and_nothing_else(starter: Starter, stack: Stack) -> None:
    nobody = f"http://127.0.0.1:{free_ports(1)[0]}"
    gateway = starter.gateway([stack.engine], "--trace-endpoint", nobody, "--trace-sample-percent", "100")
    assert embed(gateway).status == 200
    until(lambda: gateway.metric("spans_total", outcome="export_failed") > 0, "the loss is counted")
    assert embed(gateway).status == 200
    gateway.program.terminate()
    assert gateway.program.wait() == 0


def test_nothing_of_opentelemetry_is_imported_where_nothing_is_traced(minilm: Path) -> None:
    code = """
import asyncio, pathlib, sys
import tulip_rose.tulip.process
from ivy.config import Address, Config
from ivy.gateway import build
async def main():
    await build(Config(pathlib.Path(sys.argv[1]), ("m",), (Address("127.0.0.1", 1),))).close()
asyncio.run(main())
print([name for name in sys.modules if re.match("opentelemetry|google.rpc", name)])
"""
    done = subprocess.run(
        [sys.executable, "-c", f"import re\n{code}", str(minilm)], capture_output=True, text=True, check=True
    )
    assert re.fullmatch(r"\[\]\n", done.stdout), done.stdout


def test_spans_that_wait_are_sent_before_the_programs_end(traced: Traced) -> None:
    """The last of this file: it ends the programs of the others."""
    trace, header = parent_of(51)
    assert traced.embed(parent=header).status == 200
    for program in traced.stack.programs:
        program.terminate()
        assert program.wait() == 0
    names = {each.name for each in traced.collector.spans(trace=trace)}
    assert names == {*GATEWAY_STAGES, *ENGINE_STAGES, "embed", "POST /v1/embeddings"}
