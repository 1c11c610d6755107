"""What an engine does wrong for as long as a file of that name lies in its scratch. A part of its program in an image,
imported when its engine is: what listens does so by then.

hold          no step begins
misbehave     of three steps one raises, one gives rows that are not finite, and one is late
lose          of four calls three are lost on their way, while the engine says that it is well
no-captures   the device refuses each capture of a graph
"""

import copy
import itertools
import math
import os
import time
from functools import partial

import torch
from tulip_rose.rose.engine import Engine
from tulip_rose.rose.graphs.cpu_device import CpuGraphDevice
from tulip_rose.rose.graphs.device import CaptureError
from tulip_rose.rose.lazy import LazyTensor
from tulip_rose.tulip.errors import NotServing
from tulip_rose.tulip.servicer import EmbeddingServicer

LATE_S = 1.2
"""More than a small request may take."""

step, embed, capture = Engine.step, EmbeddingServicer._embed, CpuGraphDevice.capture


def told(fault):
    return os.path.exists(os.path.join("/tmp", fault))


def raising(engine, batch):
    raise RuntimeError("told to fail")


def not_finite(engine, batch):
    spoiled = copy.copy(engine)
    spoiled._model = lambda given: torch.full_like(engine._model(given), math.nan)
    return Engine._work(spoiled, batch)


turns, calls = itertools.cycle((raising, not_finite, None)), itertools.count()


def faulty_step(engine, batch):
    while told("hold"):
        time.sleep(0.05)
    wrong = next(turns) if told("misbehave") else None
    if wrong is not None:
        return LazyTensor(engine._device.launch(partial(wrong, engine, batch), batch.tokens), batch.places)
    if told("misbehave"):
        time.sleep(LATE_S)
    return step(engine, batch)


async def losing_embed(servicer, request, remaining_s, trace):
    if told("lose") and next(calls) % 4 < 3:
        raise NotServing("lost")
    return await embed(servicer, request, remaining_s, trace)


def refusing_capture(device, graph_step):
    if told("no-captures"):
        raise CaptureError("an operation that waits")
    return capture(device, graph_step)


Engine.step, EmbeddingServicer._embed, CpuGraphDevice.capture = faulty_step, losing_embed, refusing_capture
