"""The engine on a GPU, from correctness to speed, in one command: `python -m bench.gpu`, or `make bench-gpu`.

Nothing is downloaded: models have the real shapes and random weights, and texts are made-up ids. Where there is no GPU,
small models run through the same code on a CPU.
"""
