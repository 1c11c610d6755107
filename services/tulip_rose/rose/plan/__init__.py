"""What is decided before an engine starts: which graphs it captures, and whether everything fits. Pure; no torch."""
