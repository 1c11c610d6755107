"""Architectures: one file a family, found by the `architectures` entry of `config.json`."""
