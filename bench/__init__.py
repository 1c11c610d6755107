"""Benchmarks of Trellis beside its peers. Not part of the distribution."""
