"""What can become of a span, as both programs count it. Imports nothing."""

EXPORTED = "exported"
QUEUE_FULL = "queue_full"
"""Dropped: the collector did not keep up."""
EXPORT_FAILED = "export_failed"
"""Dropped: the collector was not there, or refused them."""
OUTCOMES = (EXPORTED, QUEUE_FULL, EXPORT_FAILED)
