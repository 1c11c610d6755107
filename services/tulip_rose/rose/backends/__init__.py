"""Attention on CUDA: which kernels there are, which of them a model can have here, and how each is called."""
