"""Tulip: gRPC in front, one first-come-first-served queue of sequences, batches by token budget. Knows no HTTP."""
