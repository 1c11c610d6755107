"""Layers that all architectures share. Plain callables over packed tokens [T, …]: no autograd, no batch axis."""
