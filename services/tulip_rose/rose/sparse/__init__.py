"""Rows that are weights of terms: from the head of a masked language model, or one weight a token."""
