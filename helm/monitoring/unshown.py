"""Families that no dashboard shows, each with the reason."""

_PYTHON = "of the interpreter: says nothing about how the program serves; there for whoever looks for a leak"

UNSHOWN = {
    "process_virtual_memory_bytes": "address space: mapped weights make it large, and resident memory is shown",
    "python_info": "the interpreter's version, which the image states",
    "python_gc_objects_collected_total": _PYTHON,
    "python_gc_objects_uncollectable_total": _PYTHON,
    "python_gc_collections_total": _PYTHON,
}
