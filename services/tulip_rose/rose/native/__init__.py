"""Kernels for CPUs with AVX-512, in C++: linear layers, attention and norms. `library` is the door to them."""
