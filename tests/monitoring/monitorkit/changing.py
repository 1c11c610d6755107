"""A real operator that has work all the time: a model that changes, and children of it that go."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import psutil
from monitorkit.api_server import ApiServer, Place
from monitorkit.programs import NAMESPACE, example, gateways, model, start_operator
from roadkit.program import Programs
from trellis_operator.desired import names
from trellis_operator.kinds import EMBEDDING_MODEL, SERVICE

from bench.flatness import Sample

_EVERY_S = 0.25


@contextmanager
def changing(programs: Programs) -> Iterator[list[Sample]]:
    """While inside, each quarter of a second another change; gives the operator's memory, a sample with each."""
    server, samples, followed, over = ApiServer(), list[Sample](), list[int](), threading.Event()
    operator = start_operator(programs, server)
    process = psutil.Process(operator.program.pid)

    def change() -> None:
        began = time.monotonic()
        while not over.wait(_EVERY_S):
            followed.append(replicas(server))
            _change(server, len(samples))
            samples.append(Sample(time.monotonic() - began, process.memory_info().rss / 2**20))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield samples
    finally:
        over.set()
        thread.join()
        programs.stop(operator.program)
        server.close()
    turns = sum(before != after for before, after in pairwise(followed))
    assert turns > len(followed) / 4, f"the operator followed {turns} of {len(followed)} changes"


def replicas(server: ApiServer) -> int:
    """Gateways that the operator asks for."""
    return int((server.get(gateways()) or {"spec": {"replicas": 0}})["spec"]["replicas"])


def _change(server: ApiServer, number: int) -> None:
    body = example()
    body["spec"]["gateway"]["replicas"] = 1 + number % 2
    body["metadata"]["generation"] = 2 + number
    server.put(Place(EMBEDDING_MODEL.path(NAMESPACE, model().name)), body)
    if number % 4 == 0:
        server.delete(Place(SERVICE.path(NAMESPACE, names.service(model()))))
