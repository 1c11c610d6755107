"""Whole models as graphs over static buffers: keys, the padding law, the book of what to capture, the ring, devices."""
