"""Rows that are the vectors of tokens alone, for models that let texts interact late."""
