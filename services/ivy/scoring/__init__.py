"""Pairs of texts to scores. Knows no HTTP and no JSON of callers."""
