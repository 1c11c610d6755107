"""Ways to break captures and streams of the device of CUDA, each with the test that has to see it."""

from graphkit.breaks import Break
from graphkit.errors import INVALIDATED
from paritykit.rewritten import Seen

THREADS = Seen("test_streams.test_each_thread_that_launches_does_so_on_the_stream_of_the_device")
TURNS = "test_streams.test_engines_that_take_turns_in_one_thread_each_keep_to_their_own_stream"
UNMARKED = Seen("test_streams.test_what_one_device_does_without_a_mark_leaves_the_thread_to_another")
OTHERS = "test_streams.test_a_thread_that_has_set_a_stream_of_its_own_launches_on_that_of_the_device"
POOLS = "test_captures.test_after_a_capture_that_cannot_be_another_size_is_captured"
LAST = (
    "test_captures."
    "test_after_a_capture_that_cannot_be_a_pool_whose_last_graph_makes_room_is_captured_into_until_that_has_left"
)
KIT = Seen("test_streams.test_a_device_that_is_given_its_kit_leaves_no_other_where_it_was_said_to_be")

CUDA_BREAKS: dict[str, Break] = {
    "a capture on the stream of the steps": Break(
        "graphs.cuda_device:CudaGraphDevice.capture",
        (("self._cuda.capture(self._beside", "self._cuda.capture(self._stream"),),
        Seen("test_captures.test_graphs_are_captured_beside_the_steps_and_share_a_pool"),
    ),
    "a pool for each graph": Break(
        "graphs.cuda_device:CudaGraphDevice.capture",
        (("self._beside, self._pool,", "self._beside, self._cuda.pool(),"),),
        Seen("test_captures.test_graphs_are_captured_beside_the_steps_and_share_a_pool"),
    ),
    "a pool that torch takes no capture into any more": Break(
        "graphs.cuda_device:CudaGraphDevice.capture",
        (("if not self._sharing:", "if self._pool is None:"),),
        Seen(POOLS, {"held": False, "ends": None, "pools": [1, 2]}),
    ),
    "a pool whose graphs are counted only when a capture fails": Break(
        "graphs.cuda_device:CudaGraphDevice.capture",
        (
            ("if not self._sharing:", "if self._pool is None:"),
            ("if self._cuda.leave(self._pool):", "if self._cuda.leave(self._pool) or not self._sharing:"),
            ("self._sharing = weakref.WeakSet()", "self._pool, self._sharing = None, weakref.WeakSet()"),
        ),
        Seen(LAST, {"soon": False, "pools": [1, 1, 2]}),
    ),
    "a pool for each capture": Break(
        "graphs.cuda_device:CudaGraphDevice.capture",
        (("if not self._sharing:", "if True:"),),
        Seen(LAST, {"soon": True, "pools": [1, 1, 1]}),
    ),
    "a pool that a capture could not leave": Break(
        "graphs.cuda_device:CudaGraphDevice.capture",
        (("if self._cuda.leave(self._pool):", "if False:"),),
        Seen(POOLS, {"held": True, "ends": INVALIDATED, "pools": [1, 1, 2]}),
    ),
    "a pool that is left with its graphs": Break(
        "graphs.cuda_device:CudaGraphDevice.capture",
        (("if self._cuda.leave(self._pool):", "if True:"),),
        Seen(POOLS, {"held": True, "ends": None, "pools": [1, 1, 1]}),
    ),
    "a capture before libraries have their handles": Break(
        "graphs.cuda_device:CudaGraphDevice.capture",
        (('if not getattr(self._thread, "ran", False):', "if False:"),),
        Seen(
            "test_captures.test_a_thread_that_captures_first_does_the_step_before_so_that_libraries_have_their_handles"
        ),
    ),
    "a thread on the stream that everybody shares": Break(
        "cuda_device:CudaDevice.enter", (("self._cuda.use(self._stream)", "pass"),), THREADS
    ),
    "a thread that is said to be where another device has left it": Break(
        "cuda_device:CudaDevice.enter", (("is not self._stream", "is None"),), UNMARKED
    ),
    "a device that remembers where each thread was": Break(
        "cuda_device:CudaDevice.enter",
        (
            ('getattr(_ENTERED, "stream", None) is not self._stream', "not hasattr(_ENTERED, str(id(self)))"),
            ("_ENTERED.stream = self._stream", "setattr(_ENTERED, str(id(self)), True)"),
        ),
        Seen(TURNS, {"graphs": True}),
    ),
    "a thread that is said to be where the step before has left it": Break(
        "cuda_device:CudaDevice.mark", (("_ENTERED.stream = None", "pass"),), Seen(OTHERS, {"graphs": True})
    ),
    "a thread that is said to be where it was before the weights were made": Break(
        "cuda_device:CudaDevice.kit", (("_ENTERED.stream = None", "pass"),), KIT
    ),
}
"""Each with its test."""
