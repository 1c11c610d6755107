"""EndpointSlices as the API server writes them, and what they mean. Pure: bytes in, `Slice`s and events out.

Only the fields that matter are read, but those are checked: what does not fit is an error, never half a set.
"""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TypeVar

import msgspec

from ivy.cluster.backends import Backend, Slice, State
from ivy.errors import SyncFailed

PORT_NAME = "grpc"
"""Of several ports of a Service, the one that is meant."""


class _Fields(msgspec.Struct, rename="camel"):
    """Base of what is read."""


class _Metadata(_Fields):
    name: str = ""
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _Conditions(_Fields):
    ready: bool | None = None
    serving: bool | None = None
    terminating: bool | None = None


class _Reference(_Fields):
    uid: str = ""
    name: str = ""


class _Endpoint(_Fields):
    addresses: list[str]
    conditions: _Conditions | None = None
    target_ref: _Reference | None = None


class _Port(_Fields):
    name: str | None = None
    port: int | None = None


class _EndpointSlice(_Fields):
    metadata: _Metadata
    address_type: str
    endpoints: list[_Endpoint] | None = None
    ports: list[_Port] | None = None


class _SliceList(_Fields):
    metadata: _Metadata
    items: list[_EndpointSlice] | None


class _Status(_Fields):
    code: int = 0
    reason: str | None = None
    message: str | None = None


class _Event(_Fields):
    type: str
    object: msgspec.Raw


_T = TypeVar("_T", bound=_Fields)


@dataclass(frozen=True, slots=True)
class Page:
    """One answer of a list."""

    slices: list[Slice]
    version: str
    """From which on a watch tells what changed."""
    rest: str
    """Asks for the next page; empty on the last."""


@dataclass(frozen=True, slots=True)
class Put:
    """A slice came, or changed."""

    slice: Slice


@dataclass(frozen=True, slots=True)
class Gone:
    """A slice went."""

    name: str


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Nothing changed: the server shows that it is there."""


def read_page(data: bytes) -> Page:
    """Read the answer of a list.

    Raises:
        SyncFailed: it is none.
    """
    found = _decoded(data, _SliceList)
    if not found.metadata.resource_version:
        raise SyncFailed("garbage", "the list has no version to watch from")
    slices = [_slice_of(item) for item in found.items or []]
    return Page(slices, found.metadata.resource_version, found.metadata.continue_)


def read_event(line: bytes) -> Put | Gone | Bookmark:
    """Read one line of a watch.

    Raises:
        SyncFailed: the server ends the watch with it, or it is not one of the lines that a watch may have.
    """
    event = _decoded(line, _Event)
    match event.type:
        case "ADDED" | "MODIFIED":
            return Put(_slice_of(_decoded(event.object, _EndpointSlice)))
        case "DELETED":
            return Gone(_name(_decoded(event.object, _EndpointSlice)))
        case "BOOKMARK":
            return Bookmark()
        case "ERROR":
            raise _refusal(_decoded(event.object, _Status))
        case _:
            raise SyncFailed("garbage", "an event of a type that is not known")


def _refusal(status: _Status) -> SyncFailed:
    reason = "expired" if status.code == 410 else "error_event"
    return SyncFailed(reason, f"the watch was ended: {status.code} {status.reason or ''}".rstrip())


def _slice_of(found: _EndpointSlice) -> Slice:
    port = _port(found.ports or [])
    # Names instead of addresses are not of pods, and a slice without the port has nothing to call.
    if port is None or found.address_type not in ("IPv4", "IPv6"):
        return Slice(_name(found), ())
    backends = (_backend(endpoint, port) for endpoint in found.endpoints or [] if endpoint.addresses)
    return Slice(_name(found), tuple(backends))


def _name(found: _EndpointSlice) -> str:
    if not found.metadata.name:
        raise SyncFailed("garbage", "a slice has no name")
    return found.metadata.name


def _port(ports: list[_Port]) -> int | None:
    """The port that is called so, else the only one that there is."""
    named = [each.port for each in ports if each.name == PORT_NAME] or [each.port for each in ports]
    return named[0] if len(named) == 1 else None


def _backend(endpoint: _Endpoint, port: int) -> Backend:
    try:
        # All addresses of an endpoint lead to the same pod, and the first is the one to use.
        host = ip_address(endpoint.addresses[0])
    except ValueError:
        raise SyncFailed("garbage", "an endpoint's address is not one") from None
    address = f"[{host}]:{port}" if host.version == 6 else f"{host}:{port}"
    pod = endpoint.target_ref or _Reference()
    state = _state(endpoint.conditions or _Conditions())
    return Backend(address, pod.uid or address, state, host.version == 6, pod.name)


def _state(conditions: _Conditions) -> State:
    """What the conditions mean; one that is absent means nothing against it.

    A Service may publish engines as ready that are not: `serving` tells of those.
    """
    if conditions.terminating:
        return State.TERMINATING
    return State.NOT_READY if conditions.ready is False or conditions.serving is False else State.READY


def _decoded(data: bytes | msgspec.Raw, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Without the library's words: they may quote what was read.
        raise SyncFailed("garbage", "the API server sent something that is no EndpointSlice") from None
