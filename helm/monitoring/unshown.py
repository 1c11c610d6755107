"""Families that no dashboard shows, each with the reason."""

_PYTHON = "of the interpreter: says nothing about how the program serves; there for whoever looks for a leak"
_MEMORY = "0 on a CPU; on a GPU it hardly changes after the start, and docs/gpu.md says how to read it"

UNSHOWN = {
    "trellis_engine_memory_planned_bytes": _MEMORY,
    "trellis_engine_memory_used_bytes": _MEMORY,
    "trellis_engine_max_queued_tokens": "a setting, which autoscaling reads: it does not change while an engine runs",
    "process_virtual_memory_bytes": "address space: mapped weights make it large, and resident memory is shown",
    "python_info": "the interpreter's version, which the image states",
    "python_gc_objects_collected_total": _PYTHON,
    "python_gc_objects_uncollectable_total": _PYTHON,
    "python_gc_collections_total": _PYTHON,
}
