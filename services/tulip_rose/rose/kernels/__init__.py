"""Layers for GPUs as Triton kernels. Imported where a device has chosen them: they import triton, no CPU engine does.

They read no value on the host and take no size from one: a captured step can be replayed on whatever its buffers hold.
"""
