"""The engines: which are there, which one is asked, and the asking. Knows no HTTP and no text."""
