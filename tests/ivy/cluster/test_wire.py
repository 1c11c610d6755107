"""What an API server writes, and what is read out of it."""

import contextlib
import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ivy.cluster.backends import Backend, Slice, State
from ivy.cluster.lines import lines
from ivy.cluster.wire import Bookmark, Gone, Put, read_event, read_page
from ivy.errors import SyncFailed


def event(kind: str, found) -> bytes:
    return json.dumps({"type": kind, "object": found}).encode()


@pytest.mark.parametrize(
    ("conditions", "state"),
    [
        ({}, State.READY),
        ({"ready": None, "serving": None, "terminating": None}, State.READY),
        ({"ready": True, "serving": True, "terminating": False}, State.READY),
        ({"ready": False, "serving": False, "terminating": False}, State.NOT_READY),
        ({"ready": True, "serving": False, "terminating": False}, State.NOT_READY),
        ({"ready": False, "serving": True, "terminating": True}, State.TERMINATING),
        ({"ready": True, "serving": True, "terminating": True}, State.TERMINATING),
    ],
)
def test_conditions_mean_what_kubernetes_says(slice_object, conditions, state):
    found = slice_object("a", {"addresses": ["10.0.0.1"], "conditions": conditions})
    assert read_event(event("ADDED", found)) == Put(
        Slice("a", (Backend("10.0.0.1:50051", "10.0.0.1:50051", state, False),))
    )


def test_without_conditions_an_endpoint_is_ready_and_its_pod_is_its_instance(slice_object):
    found = slice_object("a", {"addresses": ["fd00::1", "fd00::2"], "targetRef": {"uid": "u"}}, family="IPv6")
    assert read_event(event("MODIFIED", found)).slice.backends == (Backend("[fd00::1]:50051", "u", State.READY, True),)


@pytest.mark.parametrize(
    ("ports", "address"),
    [
        ([{"name": "metrics", "port": 9101}, {"name": "grpc", "port": 1}], "10.0.0.1:1"),
        ([{"name": "", "port": 2}], "10.0.0.1:2"),
        ([{"name": "other", "port": 3}], "10.0.0.1:3"),
        ([{"name": "one", "port": 1}, {"name": "two", "port": 2}], None),
        ([{"name": "grpc", "port": None}], None),
        ([], None),
        (None, None),
    ],
)
def test_the_port_is_the_one_of_that_name_or_the_only_one(slice_object, pod, ports, address):
    found = slice_object("a", pod("10.0.0.1")) | {"ports": ports}
    backends = read_event(event("ADDED", found)).slice.backends
    assert [each.address for each in backends] == ([address] if address else [])


def test_a_slice_of_names_has_no_engines(slice_object, pod):
    assert read_event(event("ADDED", slice_object("a", pod("an.example"), family="FQDN"))) == Put(Slice("a", ()))


def test_what_went_and_that_nothing_changed(slice_object):
    assert read_event(event("DELETED", slice_object("a"))) == Gone("a")
    assert read_event(event("BOOKMARK", {"metadata": {"resourceVersion": "9"}})) == Bookmark()


@pytest.mark.parametrize(
    ("status", "reason"),
    [({"code": 410, "reason": "Expired"}, "expired"), ({"code": 500}, "error_event"), ({}, "error_event")],
)
def test_an_error_event_ends_the_watch(status, reason):
    with pytest.raises(SyncFailed) as caught:
        read_event(event("ERROR", status))
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"\xff\xfe",
        b'{"type":"ADDED"}',
        b'{"type":"ADDED","object":null}',
        b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}',
        b'{"type":"ADDED","object":{"metadata":{},"addressType":"IPv4"}}',
        b'{"type":"DELETED","object":{"metadata":{},"addressType":"IPv4"}}',
        b'{"type":"SPAM","object":{}}',
        b"[" * 100_000,
    ],
)
def test_a_line_that_is_no_event_is_an_error_and_is_not_quoted(line):
    with pytest.raises(SyncFailed) as caught:
        read_event(line)
    assert caught.value.reason == "garbage"
    assert "metadata" not in str(caught.value)


@pytest.mark.parametrize("address", ["", "unix:/tmp/x", "10.0.0.1:5", "a.example"])
def test_an_address_that_is_none_is_never_dialled(slice_object, pod, address):
    with pytest.raises(SyncFailed):
        read_event(event("ADDED", slice_object("a", pod(address))))


@given(st.binary(max_size=200))
def test_any_bytes_are_an_event_or_an_error_of_ours(data):
    with contextlib.suppress(SyncFailed):
        read_event(data)


def test_a_list_needs_a_version_to_watch_from(slice_object, pod):
    page = {"metadata": {"resourceVersion": "5", "continue": "more"}, "items": [slice_object("a", pod("10.0.0.1"))]}
    found = read_page(json.dumps(page).encode())
    assert (found.version, found.rest, [each.name for each in found.slices]) == ("5", "more", ["a"])
    assert read_page(b'{"metadata":{"resourceVersion":"5"},"items":null}').slices == []
    with pytest.raises(SyncFailed):
        read_page(b'{"metadata":{},"items":[]}')


async def _pieces(data: bytes, cuts: list[int]):
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    for begin, end in itertools.pairwise(edges):
        yield data[begin:end]


@given(st.lists(st.binary(max_size=20).filter(lambda line: b"\n" not in line)), st.lists(st.integers(0, 999)))
async def test_lines_are_the_same_however_the_stream_is_cut(wanted, cuts):
    data = b"".join(line + b"\n" for line in wanted) + b"cut off"
    assert [line async for line in lines(_pieces(data, cuts))] == [line for line in wanted if line.strip()]


async def test_a_line_without_an_end_is_given_up():
    with pytest.raises(SyncFailed):
        [line async for line in lines(_pieces(b"x" * 100, list(range(100))), limit=50)]
