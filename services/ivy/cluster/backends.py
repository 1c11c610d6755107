"""`Backend`: an engine as the cluster knows it, and how slices become one set. Pure; knows no JSON, no network."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import IntEnum


class State(IntEnum):
    """What the cluster says of an engine. In this order the most hopeful one is the largest."""

    TERMINATING = 0
    """It is on its way out, and gets nothing new."""
    NOT_READY = 1
    READY = 2


@dataclass(frozen=True, slots=True)
class Backend:
    """One engine, at one address."""

    address: str
    """HOST:PORT."""
    instance: str
    """Of the pod, which may have an address in each family; the address itself where no pod is named."""
    state: State
    is_v6: bool = False
    pod: str = ""
    """Its name; empty where no pod is named."""


@dataclass(frozen=True, slots=True)
class Slice:
    """One EndpointSlice: a part of a Service's endpoints."""

    name: str
    backends: tuple[Backend, ...]


def merged(slices: Iterable[Slice]) -> frozenset[Backend]:
    """The set of engines that several slices give together: one for each pod, and one for each address.

    Slices overlap: an endpoint that is moved from one to another is in both for a while, in one of them as it was
    before; a pod with an address in each family is in a slice of each; a new pod may get the address of one that is
    going. So an engine is terminating as soon as one slice says so, since nothing takes that back; it is ready when
    one slice says so, for its own word is asked as well; and of two families it is taken in the elder.
    """
    pods: dict[str, list[Backend]] = defaultdict(list)
    for each in slices:
        for backend in each.backends:
            pods[backend.instance].append(backend)
    addresses: dict[str, list[Backend]] = defaultdict(list)
    for seen in pods.values():
        backend = _one_of_pod(seen)
        addresses[backend.address].append(backend)
    return frozenset(max(claims, key=lambda each: (each.state, each.instance)) for claims in addresses.values())


def _one_of_pod(seen: list[Backend]) -> Backend:
    states = {backend.state for backend in seen}
    state = State.TERMINATING if State.TERMINATING in states else max(states)
    chosen = min(seen, key=lambda backend: (backend.is_v6, backend.address))
    return replace(chosen, state=state)
