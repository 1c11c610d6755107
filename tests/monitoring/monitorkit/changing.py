"""A real operator that has work all the time: a model that changes, and children of it that go."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
from monitorkit.api_server import ApiServer, Place
from monitorkit.programs import NAMESPACE, example, gateways, model, start_operator
from roadkit.program import Programs
from roadkit.waiting import until
from trellis_operator.desired import names
from trellis_operator.kinds import EMBEDDING_MODEL, SERVICE

from bench.flatness import Sample

_EVERY_S = 0.25
_LEAST = 20
_MORE_S = 120.0
"""After all else is over, for those of the changes that a busy machine has not come to."""


@contextmanager
def changing(programs: Programs) -> Iterator[list[Sample]]:
    """While inside, one change after the other, each when that before was followed.

    Gives the operator's memory, a sample each quarter of a second. Fails where few changes were followed.
    """
    server, over = ApiServer(), threading.Event()
    operator = start_operator(programs, server)
    work = _Work(server, psutil.Process(operator.program.pid))
    thread = threading.Thread(target=work.go_on, args=(over,))
    thread.start()
    try:
        yield work.samples
        until(lambda: work.followed >= _LEAST, f"the operator has followed {_LEAST} changes", _MORE_S)
    finally:
        over.set()
        thread.join()
        programs.stop(operator.program)
        server.close()


class _Work:
    """What the operator is given to do, and how far it has come."""

    def __init__(self, server: ApiServer, process: psutil.Process) -> None:
        self._server, self._process = server, process
        self.samples: list[Sample] = []
        self.followed = 0

    def go_on(self, over: threading.Event) -> None:
        began = time.monotonic()
        self._change()
        while not over.wait(_EVERY_S):
            self.samples.append(Sample(time.monotonic() - began, self._process.memory_info().rss / 2**20))
            if self._is_followed():
                self.followed += 1
                self._change()

    def _asked(self) -> int:
        """Gateways, of which the example has one."""
        return 2 - self.followed % 2

    def _change(self) -> None:
        body = example()
        body["spec"]["gateway"]["replicas"] = self._asked()
        body["metadata"]["generation"] = 2 + self.followed
        self._server.put(Place(EMBEDDING_MODEL.path(NAMESPACE, model().name)), body)
        if self.followed % 4 == 0:
            self._server.delete(Place(SERVICE.path(NAMESPACE, names.service(model()))))

    def _is_followed(self) -> bool:
        """Not asked of a Service that goes again and again: the operator takes longer each time, and means to."""
        made = self._server.get(gateways())
        return made is not None and made["spec"]["replicas"] == self._asked()
