"""Ways to break steps over static buffers, a few words at a time, each with the test that has to see it."""

from dataclasses import dataclass

import torch
from paritykit.rewritten import Seen, Words
from tulip_rose.rose.options import GRAPHS_ON_CPU

ON = {"where": GRAPHS_ON_CPU, "error": 2e-5}
BY_NUMPY = {"compiled": False}
BACK_TO_BACK = Seen("test_cuda_device.test_batches_back_to_back_equal_steps_without_graphs", {"inside": True})
STALE = Seen("test_equal.test_after_a_long_batch_a_short_one_in_the_same_graph_finds_nothing_of_it", ON)
FAMILY = Seen("test_equal.test_every_family_gives_its_vectors_eagerly_and_from_a_graph", {**ON, "family": "bert"})
WARM = Seen("test_cuda_device.test_after_warm_up_a_step_takes_no_memory_and_waits_for_nothing_but_its_event")
VIEWS = Seen("test_steps.test_after_warm_up_a_step_is_two_copies_a_replay_and_an_event_and_makes_no_view", ON)
SORTED = Seen("test_cuda_device.test_what_a_step_raises_is_sorted", {"graphs": True})
FAILED = Seen("test_failed_steps.test_a_failed_capture_leaves_the_key_eager_and_is_counted_and_told")
CROWDED = Seen("test_failed_steps.test_a_step_without_memory_is_given_back_and_its_size_is_not_tried_again")
HALVES = Seen("test_halves.test_the_loop_halves_what_has_no_room_and_everybody_gets_vectors")
EVICTED = Seen("test_book.test_the_graph_used_longest_ago_makes_room_and_has_to_come_twice_again")
LEAVING = Seen(
    "test_evicted.test_graphs_that_made_room_are_let_go_when_their_steps_are_over_although_the_device_is_never_idle"
)
HELD = Seen("test_evicted.test_graphs_are_held_up_to_a_number_and_evicted_ones_still_give_their_vectors", ON)
IN_TURN = Seen("test_ring.test_a_slot_is_written_again_only_when_its_step_has_read_it")
SPARE = Seen("test_ring.test_with_one_slot_more_than_steps_in_flight_taking_a_slot_never_waits")
LAID = Seen("test_padding.test_offsets_begin_with_the_batch_and_end_with_all_rows_and_every_row_has_an_owner", BY_NUMPY)
WRITTEN = Seen("test_padding.test_everything_that_a_step_may_read_is_written_and_valid", BY_NUMPY)
SEES = Seen("test_padding.test_of_each_sequence_as_many_tokens_are_seen_as_it_says_and_of_pads_all", BY_NUMPY)
LOADED = "test_eager_loads.test_what_is_loaded_is_copied_to_pinned_memory_and_from_there_in_one_call_each"
BORDERS = Seen("test_eager_loads.test_borders_of_sequences_are_loaded_once_each", {"seen": [2, 3], "loads": 2})
TRIED = Seen(
    "test_trial.test_a_kernel_that_raises_stops_the_start_in_one_line_that_names_the_attention", {"graphs": False}
)
WAITED = Seen("test_cuda_device.test_a_device_that_fails_while_a_step_is_waited_for_ends_the_engine")


def output(name: str) -> Seen:
    return Seen(
        "test_outputs.test_outputs_in_memory_that_is_used_again_are_those_of_steps_without_graphs",
        {"name": name, "inside": False},
    )


def warm(name: str) -> Seen:
    return Seen(
        "test_outputs.test_after_warm_up_no_output_takes_memory_or_waits_for_anything_but_its_event",
        {"name": name, "inside": False},
    )


@dataclass(frozen=True)
class Break:
    """Words exchanged in a method, and the test that has to see it."""

    where: str
    words: Words
    seen: Seen


def put(seen: Seen, *words: tuple[str, str]) -> Break:
    return Break("graphs.framed:Framed._put", words, seen)


def booked(seen: Seen, name: str, *words: tuple[str, str]) -> Break:
    return Break(f"graphs.book:Book.{name}", words, seen)


def filled(seen: Seen, *words: tuple[str, str]) -> Break:
    return Break("graphs.padding:fill", words, seen)


BREAKS: dict[str, Break] = {
    "a replay whose inputs are not copied": put(
        BACK_TO_BACK, ("self._device.copy(frame.given", "held or self._device.copy(frame.given")
    ),
    "a replay whose batch is not laid out": put(STALE, ("tray.sheet.write(batch)", "held or tray.sheet.write(batch)")),
    "a slot that is another step's while planning reads it": put(
        Seen("test_cuda_device.test_the_slot_of_a_step_whose_planning_raised_is_kept_until_what_it_began_is_done"),
        ("self._begun = True\n", "pass\n"),
        ("self._device.copy(frame.given", "self._begun = True; self._device.copy(frame.given"),
    ),
    "rows that are not copied out": put(
        FAMILY, ("self._device.copy(*rows.copy(count))", "held or self._device.copy(*rows.copy(count))")
    ),
    "rows that are copied out before the step": put(
        BACK_TO_BACK,
        (
            "self._do(key, frame, run)\n",
            "tray.rows and self._device.copy(*tray.rows.copy(1)); self._do(key, frame, run)\n",
        ),
        ("self._device.copy(*rows.copy(count))", "pass"),
    ),
    "views that are made anew for each replay": put(VIEWS, ("keep=held is not None", "keep=False")),
    "graphs that are let go while they may run": put(LEAVING, ("+ _SLOTS <= self._turn", "<= self._turn")),
    "graphs that are never let go": put(LEAVING, ("+ _SLOTS <= self._turn", "+ 99 <= self._turn")),
    "an event before the rows": Break(
        "graphs.launched:FramedLaunched._failure", (("self._event.wait(timeout_s)", "pass"),), BACK_TO_BACK
    ),
    "a wait that does not wait": Break(
        "cuda_device:CudaEvent._wait",
        (("if timeout_s is None:", "if True:"), ("self._mark.synchronize()", "pass")),
        BACK_TO_BACK,
    ),
    "an event that is recorded beside the step": Break(
        "cuda_device:CudaDevice.mark",
        (("self._cuda.mark(self._stream)", "self._cuda.mark(self._cuda.stream())"),),
        BACK_TO_BACK,
    ),
    "a failure that is waited for in vain": Break(
        "cuda_device:CudaEvent.reached", (("return True", "return False"),), WAITED
    ),
    "results that are left in their slot": Break(
        "graphs.slot:TrayRows.take",
        (("self._rows[:count].copy(), self._finite[:count].copy()", "self._rows[:count], self._finite[:count]"),),
        Seen("test_steps.test_nothing_is_waited_for_until_somebody_asks_and_results_keep_until_then"),
    ),
    "a slot that is taken while its step has it": Break(
        "graphs.ring:Ring.take", (("holder.finish()", "pass"),), IN_TURN
    ),
    "one slot for all steps": Break("graphs.ring:Ring.hold", (("self._next + 1", "self._next"),), SPARE),
    "one memory for all results of a step": Break(
        "graphs.growing:Growing.places", (("self._place, number", "self._place, 0"),), output("three outputs")
    ),
    "bounds of spans that were another step's": Break(
        "graphs.slot:Slot.loads", (("host.copy_(bounds)", "pass"),), output("vectors of tokens")
    ),
    "bounds of spans that are copied from where they lie": Break(
        "graphs.slot:Slot.loads",
        (("self._device.beside(host)", "self._device.beside(bounds)"),),
        warm("vectors of tokens"),
    ),
    "results behind a step that are left in their slot": Break(
        "layers.head:taken",
        (("part.rows.copy(), part.finite.copy()", "part.rows, part.finite"),),
        output("vectors of tokens"),
    ),
    "what an eager step reads that is copied from where it lies": Break(
        "cuda_device:CudaDevice.load",
        (("self._cuda.beside(host)", "self._cuda.beside(tensor)"),),
        Seen(LOADED, {"given": torch.arange(7)}),
    ),
    "pinned memory of an eager step that is not written": Break(
        "cuda_device:CudaDevice.load", (("host.copy_(tensor)", "pass"),), Seen(LOADED, {"given": torch.arange(7)})
    ),
    "borders that are not loaded as a batch says": Break(
        "backends.borders:Borders.of", (("ragged.load or", "None or"),), BORDERS
    ),
    "a trial whose error is another's": Break("engine:Engine._try", (("except StepError", "except KeyError"),), TRIED),
    "results of a step that are taken anew": Break(
        "graphs.growing:Growing._place",
        (("if self._held[number].shape[0] < like.nbytes:", "if True:"),),
        warm("terms"),
    ),
    "the newest graph makes room": booked(EVICTED, "_make_room", ("held[0]", "held[-1]")),
    "a hit that does not count as one": booked(EVICTED, "_page", ("self._pages.move_to_end(key)", "pass")),
    "a capture at the first hit": booked(
        Seen("test_book.test_a_key_runs_eagerly_then_is_captured_then_replays"),
        "decide",
        ("page.hits == 1", "page.hits == 0"),
    ),
    "a capture while the device is busy": booked(
        Seen("test_book.test_a_busy_device_puts_a_capture_off_until_it_is_idle"), "decide", ("(idle or", "(True or")
    ),
    "a capture that never comes on a busy device": booked(
        Seen("test_book.test_a_device_that_is_never_idle_puts_a_capture_off_no_longer_than_patience_lasts"),
        "decide",
        ("page.hits > self._patience", "False"),
    ),
    "a failed capture that is tried again": booked(
        Seen("test_book.test_a_failed_capture_is_not_tried_again"), "refuse", (".refused = True", ".refused = False")
    ),
    "a size without room that is tried again": booked(
        Seen("test_book.test_a_crowded_key_is_split_from_then_on_even_if_it_has_a_graph"),
        "crowd",
        (".crowded = True", ".crowded = False"),
    ),
    "a graph too many": booked(EVICTED, "_make_room", ("len(held) < self._most", "len(held) <= self._most")),
    "a failed capture that is not counted": Break(
        "graphs.framed:Framed._capture", (("self.counts.capture_failed += 1", "pass"),), FAILED
    ),
    "a failed capture that is not marked": Break(
        "graphs.framed:Framed._capture", (("self.book.refuse(key)", "pass"),), FAILED
    ),
    "a size without room that is not marked": Break(
        "graphs.framed:Framed._failure", (("self.book.crowd(key)", "pass"),), CROWDED
    ),
    "a size without room that is not counted": Break(
        "graphs.framed:Framed._failure", (("self.counts.out_of_memory += 1", "pass"),), CROWDED
    ),
    "a size without room that is not told": Break(
        "graphs.framed:Framed._failure", (("not in dict(self._crowded)", "in dict(self._crowded)"),), CROWDED
    ),
    "no halves of what has no room": Break("loop:EngineLoop._halve", (("== 1", ">= 1"),), HALVES),
    "half of what has no room": Break(
        "loop:EngineLoop._halve", (("[sequences[:middle], sequences[middle:]]", "[sequences[:middle]]"),), HALVES
    ),
    "an evicted graph that is replayed": Break(
        "graphs.framed:Framed._evict", (("self._graphs.pop(key)", "self._graphs[key]"),), HELD
    ),
    "pads that nobody owns": filled(LAID, ("batch.starts, rows)\n", "batch.starts, int(batch.starts[-1]))\n")),
    "pads that keep an id": filled(WRITTEN, ("batch.token_ids, PAD)", "batch.token_ids, fields.token_ids[-1])")),
    "pads that keep a place": filled(WRITTEN, ("batch.positions, 0)", "batch.positions, fields.positions[-1])")),
    "spans of the batch before": filled(
        WRITTEN,
        (
            "_NO_SPANS if pooled is None else pooled.bounds, _FIRST",
            "_NO_SPANS if pooled is None else pooled.bounds, fields.bounds[-1].copy()",
        ),
    ),
    "tokens that nobody may see": filled(SEES, ("if batch.partly is not None:", "if False:")),
    "types of the batch before": filled(WRITTEN, ("if typed:", "if batch.token_types is not None:")),
    "an error of the device for one of a step": Break(
        "graphs.framed:Framed._failure",
        (("fault is Fault.DEVICE", "False"), ("gone is not None or", "False or")),
        SORTED,
    ),
    "an error of a step for one of the device": Break(
        "graphs.framed:Framed._failure", (("fault is Fault.STEP", "False"),), SORTED
    ),
    "a copy that takes memory": Break(
        "graphs.cuda_device:CudaGraphDevice.copy",
        (
            (
                "self._cuda.copy(target, source)",
                "self._cuda.copy(target, source); self._cuda.pinned((1,), source.dtype)",
            ),
        ),
        WARM,
    ),
}
"""Each with its test."""
