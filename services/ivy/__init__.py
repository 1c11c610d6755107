"""Ivy: the gateway. HTTP, JSON, prompts, tokenization, chunks, balancing over engines. Never imports torch."""
